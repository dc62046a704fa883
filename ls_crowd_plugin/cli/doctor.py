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
    from .parts import databases, label_studio

    settings = read_settings()
    bad = 0
    with databases(settings) as (engine, work):
        for finding in check_everything(settings, label_studio(settings, patient=False), engine, work, project):
            bad += finding.kind == BAD
            click.echo(f"{SIGNS[finding.kind]} {finding.sentence}")
    if bad:
        raise CrowdError(f"{bad} thing(s) are wrong; what to do is said above.")
