"""`ls-crowd connect`: checks a project, gives it a webhook and tabs for reviewing, and makes the first pass."""

from __future__ import annotations

import click


@click.command(short_help="Webhook, review tabs and first sync for a project.")
@click.argument("project", type=click.IntRange(min=1))
@click.option(
    "--uncertain-first",
    is_flag=True,
    help="Let Label Studio's own queue serve the least certain tasks first.",
)
def connect(project: int, uncertain_first: bool) -> None:
    """Connects PROJECT to the service at LS_CROWD_PUBLIC_URL. May be repeated: it makes what is missing."""
    from ..pipeline.checks import GOOD, check_project
    from ..pipeline.connect import connect as connect_project
    from ..pipeline.hold import own_name
    from ..settings import SECRET_HEADER, read_settings
    from ..store.secrets import kept_secret
    from .doctor import SIGNS
    from .parts import databases, label_studio, options_of
    from .sync import done

    settings = read_settings()
    studio = label_studio(settings)
    with databases(settings) as (engine, work):
        secret, is_new = settings.webhook_secret, False
        if not secret:
            secret, is_new = kept_secret(engine, "webhook secret")
        if is_new:
            click.echo(f"Webhook secret (header {SECRET_HEADER}), shown this once: {secret}")
        connected = connect_project(
            studio,
            engine,
            work,
            project,
            address=settings.public_url,
            secret=secret,
            uncertain_first=uncertain_first,
        )
        for sentence in connected.done:
            click.echo(f"{SIGNS[GOOD]} {sentence}")
        for sentence in connected.troubles:
            click.echo(f"warning: {sentence}", err=True)
        done(studio, engine, work, own_name(), project, options_of(settings))
        for finding in check_project(settings, studio, engine, work, project):
            if finding.kind != GOOD:
                click.echo(f"{SIGNS[finding.kind]} {finding.sentence}")
