"""`ls-crowd doctor`: every check that explains why nothing happens, with the cure."""

from __future__ import annotations

import click

from ..errors import CrowdError

SIGNS = {"ok": "✓", "note": "·", "bad": "✗"}


@click.command(short_help="Why does nothing happen?")
@click.argument("project", type=click.IntRange(min=1), required=False)
def doctor(project: int | None) -> None:
    """Checks Label Studio, the service and, if named, a project; says of everything wrong what to do."""
    from ..pipeline.checks import BAD, check_everything
    from ..settings import read_settings
    from ..store import WorkList, open_database, open_work_list
    from .parts import label_studio

    settings = read_settings()
    engine, work_engine = open_database(settings.database_url or None), open_work_list(settings.database_url or None)
    bad = 0
    try:
        for finding in check_everything(
            settings, label_studio(settings, patient=False), engine, WorkList(work_engine), project
        ):
            bad += finding.kind == BAD
            click.echo(f"{SIGNS[finding.kind]} {finding.sentence}")
    finally:
        engine.dispose()
        work_engine.dispose()
    if bad:
        raise CrowdError(f"{bad} thing(s) are wrong; what to do is said above.")
