"""`ls-crowd connect`: gives a project a webhook and review tabs, and runs the first pass."""

from __future__ import annotations

import click


@click.command(short_help="Add a webhook and review tabs to a project, and sync it.")
@click.argument("project", type=click.IntRange(min=1))
@click.option(
    "--uncertain-first",
    is_flag=True,
    help="Let Label Studio's own queue serve the least confident tasks first.",
)
def connect(project: int, uncertain_first: bool) -> None:
    """Connect PROJECT to the service at LS_CROWD_PUBLIC_URL. Can be repeated: it creates what is missing."""
    from ..pipeline.checks import OK, Checked, check_project
    from ..pipeline.connect import connect as connect_project
    from ..pipeline.context import RunFlags
    from ..settings import read_settings
    from .doctor import SIGNS
    from .serve import webhook_secret
    from .setup import label_studio, store_of
    from .sync import sync_project

    settings = read_settings()
    studio = label_studio(settings)
    with store_of(settings) as store:
        secret = webhook_secret(settings, store)
        changes = connect_project(
            studio, store, project, address=settings.public_url, secret=secret, uncertain_first=uncertain_first
        )
        for sentence in changes.done:
            click.echo(f"{SIGNS[OK]} {sentence}")
        for sentence in changes.problems:
            click.echo(f"warning: {sentence}", err=True)
        sync_project(studio, store, project, settings.recipe, RunFlags())
        for check in check_project(Checked(settings, studio, store), project):
            if check.kind != OK:
                click.echo(f"{SIGNS[check.kind]} {check.sentence}")
