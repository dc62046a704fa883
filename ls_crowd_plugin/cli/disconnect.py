"""`ls-crowd disconnect`: takes away what `connect` made, and with --purge all that was ever written."""

from __future__ import annotations

import click


@click.command(short_help="Removes webhook and tabs, restores settings.")
@click.argument("project", type=click.IntRange(min=1))
@click.option("--purge", is_flag=True, help="Also delete our predictions and metadata in Label Studio.")
def disconnect(project: int, purge: bool) -> None:
    """Disconnects PROJECT: no webhook, no tabs, the settings as they were. Gold and the trail stay in the database."""
    from ..pipeline.connect import disconnect as disconnect_project
    from ..pipeline.hold import holding, own_name
    from ..settings import read_settings
    from .parts import databases, label_studio

    settings = read_settings()
    with databases(settings) as (engine, work), holding(work, project, own_name(), wait=30.0):
        connected = disconnect_project(
            label_studio(settings), engine, work, project, address=settings.public_url, purge=purge
        )
    if settings.all_projects or project in settings.projects:
        connected.troubles.append(f"LS_CROWD_PROJECTS names project {project}, so the service will take it on again.")
    for sentence in connected.done:
        click.echo(sentence)
    for sentence in connected.troubles:
        click.echo(f"warning: {sentence}", err=True)
