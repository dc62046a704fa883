"""Options that several commands share."""

from __future__ import annotations

import click

from ..records import DECISIONS

EVERY_QUESTION = ""  # no question has an empty name

ordered_option = click.option(
    "--ordered",
    metavar="[QUESTION]",
    multiple=True,
    is_flag=False,
    flag_value=EVERY_QUESTION,
    help="The labels are a scale, in the order of --labels or of their numbers: those of all questions, or of one"
    " (repeat for more).",
)
decide_option = click.option(
    "--decide",
    type=click.Choice(DECISIONS),
    default="label",
    show_default=True,
    help="The most probable label, or on a scale the one of least expected distance from the truth.",
)


def ordered_questions(ordered: tuple[str, ...], decide: str) -> bool | tuple[str, ...]:
    """What `--ordered` says: all questions, or which; checked against `--decide`."""
    if decide == "distance" and not ordered:
        raise click.UsageError("--decide distance needs a scale: give --ordered with it.")
    return True if EVERY_QUESTION in ordered else ordered
