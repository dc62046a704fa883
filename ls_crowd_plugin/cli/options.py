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
    " (repeat for more). Without it, numbers are taken for a scale where the answers show it.",
)
unordered_option = click.option("--unordered", is_flag=True, help="Numbers are only names: nothing is a scale.")
decide_option = click.option(
    "--decide",
    type=click.Choice(DECISIONS),
    default="label",
    show_default=True,
    help="The most probable label, or on a scale the one of least expected distance from the truth.",
)


def ordered_questions(ordered: tuple[str, ...], unordered: bool, decide: str) -> bool | tuple[str, ...] | None:
    """What `--ordered` and `--unordered` say: all questions, or which, or none; None if they say nothing."""
    if ordered and unordered:
        raise click.UsageError("--ordered and --unordered contradict each other; give one of them.")
    if decide == "distance" and not ordered:
        raise click.UsageError("--decide distance needs a scale: give --ordered with it.")
    if unordered:
        return False
    return True if EVERY_QUESTION in ordered else ordered or None
