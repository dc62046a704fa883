"""`ls-crowd disconnect`: removes webhook and tabs, and with --purge everything that was written."""

from __future__ import annotations

import click


@click.command(short_help="Remove webhook and tabs, restore settings.")
@click.argument("project", type=click.IntRange(min=1))
@click.option("--purge", is_flag=True, help="Also delete the plugin's predictions and metadata in Label Studio.")
def disconnect(project: int, purge: bool) -> None:
    """Remove webhook and tabs of PROJECT and restore its settings. Gold and history stay in the database."""
    from ..pipeline.connect import disconnect as disconnect_project
    from ..pipeline.lease import hold_project, process_name
    from ..settings import read_settings
    from .setup import label_studio, store_of
    from .sync import WAIT_SECONDS

    settings = read_settings()
    with store_of(settings) as store, hold_project(store, project, process_name(), wait=WAIT_SECONDS):
        changes = disconnect_project(label_studio(settings), store, project, address=settings.public_url, purge=purge)
    if settings.projects.include(project):
        changes.problems.append(f"LS_CROWD_PROJECTS names project {project}, so the service will monitor it again.")
    for sentence in changes.done:
        click.echo(sentence)
    for sentence in changes.problems:
        click.echo(f"warning: {sentence}", err=True)
