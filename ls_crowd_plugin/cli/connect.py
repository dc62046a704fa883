"""`ls-crowd connect`: gives a project a webhook and review tabs, and runs the first pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ..records import Json

if TYPE_CHECKING:
    from ..policy import Policy


@click.command(short_help="Add a webhook and review tabs to a project, and sync it.")
@click.argument("project", type=click.IntRange(min=1))
@click.option(
    "--uncertain-first",
    is_flag=True,
    help="Let Label Studio's own queue serve the least confident tasks first.",
)
@click.option(
    "--adaptive/--no-adaptive",
    default=None,
    help="Ask for one more answer where it helps, and for none where the label is settled; or no longer.",
)
@click.option("--advise", is_flag=True, help="Only show which tasks that would open and close.")
@click.option("--min-answers", type=click.IntRange(min=1), help="With --adaptive: every task gets so many (default 2).")
@click.option("--max-answers", type=click.IntRange(min=1), help="With --adaptive: no task gets more (default 7).")
@click.option("--confidence", type=click.FloatRange(0.5, 1, max_open=True), help="At which a task is closed (0.95).")
@click.option("--budget", type=click.IntRange(min=1), help="With --adaptive: answers in the whole project, at most.")
def connect(project: int, uncertain_first: bool, adaptive: bool | None, advise: bool, **limits: float | None) -> None:
    """Connect PROJECT to the service at LS_CROWD_PUBLIC_URL. Can be repeated: it creates what is missing."""
    policy = _policy(bool(adaptive) or advise, advise, limits)
    if adaptive is False and (advise or policy is not None):
        raise click.UsageError("--no-adaptive ends the policy; give it without its options.")
    if adaptive is not None and uncertain_first:
        raise click.UsageError("Give --uncertain-first by itself, while no policy decides which tasks come first.")
    from ..pipeline.checks import OK, Checked, check_project, check_service
    from ..pipeline.connect import connect as connect_project
    from ..pipeline.context import RunFlags
    from ..settings import read_settings
    from ..store.policies import forget_policy
    from .doctor import SIGNS
    from .serve import webhook_secret
    from .setup import label_studio, service_answers, store_of
    from .sync import sync_project

    settings = read_settings()
    studio = label_studio(settings)
    with store_of(settings) as store:
        secret = webhook_secret(settings, store)
        changes = connect_project(
            studio,
            store,
            project,
            address=settings.public_url,
            secret=secret,
            uncertain_first=uncertain_first,
            policy=policy,
        )
        if adaptive is False:
            with store.data.begin() as connection:
                forget_policy(connection, project)
            changes.done.append("Every task requires as many answers as before again.")
        for sentence in changes.done:
            click.echo(f"{SIGNS[OK]} {sentence}")
        for sentence in changes.problems:
            click.echo(f"warning: {sentence}", err=True)
        sync_project(studio, store, project, settings.recipe, RunFlags())
        checked = Checked(settings, studio, store, service_answers)
        for check in (*check_service(checked), *check_project(checked, project)):
            if check.kind != OK:
                click.echo(f"{SIGNS[check.kind]} {check.sentence}")


def _policy(is_wanted: bool, only_advises: bool, limits: Mapping[str, float | None]) -> Policy | None:
    """What the options ask for; None if they ask for nothing."""
    from ..policy import Policy

    given: Json = {name: value for name, value in limits.items() if value is not None}
    if is_wanted:
        return Policy(**given, acts=not only_advises)
    if given:
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise click.UsageError(f"{option} is a part of --adaptive (or --advise); give one of them with it.")
    return None
