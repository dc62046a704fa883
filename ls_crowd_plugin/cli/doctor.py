"""`ls-crowd doctor`: every check that explains why nothing happens, with the cure."""

from __future__ import annotations

import click

from ..errors import CrowdError

SIGNS = {"ok": "✓", "note": "·", "bad": "✗"}


@click.command(short_help="Find out why a project is not updated.")
@click.argument("project", type=click.IntRange(min=1), required=False)
def doctor(project: int | None) -> None:
    """Check Label Studio, the service and, if named, a project; say how to fix each problem."""
    from ..pipeline.checks import BAD, Checked, check_everything
    from ..settings import read_settings
    from .setup import label_studio, service_answers, store_of

    settings = read_settings()
    problems = 0
    with store_of(settings) as store:
        checked = Checked(settings, label_studio(settings, patient=False), store, service_answers)
        for check in check_everything(checked, project):
            problems += check.kind == BAD
            click.echo(f"{SIGNS[check.kind]} {check.sentence}")
    if problems:
        found = "1 problem was" if problems == 1 else f"{problems} problems were"
        raise CrowdError(f"{found} found; see the lines marked ✗ above.")
