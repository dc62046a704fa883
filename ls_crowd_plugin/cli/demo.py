"""`ls-crowd demo`: a simulated crowd of known people, and what plurality and the methods here make of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..aggregation import Consensus
    from ..demo import SimulatedCrowd

COMPARED = {"plu": "plurality", "neg": "neg", "gem": "gem", "auto": "auto"}
EXAMPLES = 5
KINDS = ("expert", "sloppy", "spammer", "adversary")
_COLOURS = {"expert": "green", "sloppy": "yellow", "spammer": "bright_black", "adversary": "red"}


@click.command(short_help="A simulated crowd: what plurality gets wrong and gem right.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another crowd.")
def demo(seed: int) -> None:
    """Shows, on a simulated crowd with spammers and adversaries, what plurality gets wrong and gem gets right."""
    from rich.console import Console

    from ..aggregation import aggregate
    from ..demo import simulate_demo_crowd

    crowd = simulate_demo_crowd(seed)
    found = {
        method: aggregate(
            crowd.tasks,
            crowd.annotators,
            crowd.labels,
            gold=None if method == "plu" else crowd.gold,  # plurality as people use it, where every vote counts alike
            method=method,
            seed=seed,
        )
        for method in COMPARED
    }
    console = Console(highlight=False, markup=False)
    with console.capture() as text:  # printed by click: rich would call a closed pipe a failure
        console.print(_introduction(crowd))
        for title, table in (
            _people(crowd, found["gem"]),
            _accuracies(crowd, found),
            _examples(crowd, found["plu"], found["gem"]),
        ):
            console.print(title, style="bold")
            console.print(table)
    click.echo(text.get(), nl=False)
    click.echo("Do the same with answers of your own: ls-crowd aggregate ANSWERS.csv --gold GOLD.csv --out DIR")


def _introduction(crowd: SimulatedCrowd) -> str:
    kinds = list(crowd.kinds.values())
    people = ", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS)
    return (
        f"\n{len(kinds)} simulated people ({people}) gave {len(crowd.tasks)} answers to {len(crowd.truth)} tasks. "
        f"For {len(crowd.gold)} tasks the right label is known beforehand (gold). Who is who is known to you, not to "
        "the methods.\n"
    )


def _people(crowd: SimulatedCrowd, consensus: Consensus) -> tuple[str, Table]:
    """Everybody's true kind beside what gem makes of their answers, the kinds together and the best first."""
    table = _table()
    for column in ("annotator", "truly", "verdict"):
        table.add_column(column)
    for column in ("skill", "adversary", "accuracy", "answers"):
        table.add_column(column, justify="right")
    people = sorted(
        consensus.annotators, key=lambda each: (KINDS.index(crowd.kinds[each["annotator"]]), -each["accuracy"])
    )
    for each in people:
        kind = crowd.kinds[each["annotator"]]
        table.add_row(
            str(each["annotator"]),
            kind,
            each["verdict"],
            f"{each['skill']:.1f}",
            f"{each['adversary_probability']:.0%}",
            f"{each['accuracy']:.0%}",
            str(each["answers"]),
            style=_COLOURS[kind],
        )
    return "What gem makes of their answers", table


def _accuracies(crowd: SimulatedCrowd, found: dict[str, Consensus]) -> tuple[str, Table]:
    judged = [task for task in crowd.truth if task not in crowd.gold]
    table = _table()
    table.add_column("method")
    table.add_column("right", justify="right")
    table.add_column("share", justify="right")
    for method, name in COMPARED.items():
        right = sum(found[method].labels.get(task) == crowd.truth[task] for task in judged)
        table.add_row(name, str(right), f"{right / len(judged):.1%}")
    return f"Right labels among the {len(judged)} tasks without gold", table


def _examples(crowd: SimulatedCrowd, plurality: Consensus, consensus: Consensus) -> tuple[str, Table]:
    """Tasks where plurality is wrong and gem is right, the surest first, and who said what."""
    answers: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
    for task, annotator, label in zip(crowd.tasks, crowd.annotators, crowd.labels, strict=True):
        answers[task].append((annotator, label))
    rescued = [
        task
        for task, truth in crowd.truth.items()
        if task in answers and task not in crowd.gold and plurality.labels[task] != truth == consensus.labels[task]
    ]
    rescued.sort(key=lambda task: -consensus.confidence[task])
    table = _table()
    for column in ("task", "plurality", "gem", "who said what"):
        table.add_column(column)
    for task in rescued[:EXAMPLES]:
        table.add_row(
            str(task),
            str(plurality.labels[task]),
            f"{consensus.labels[task]} ({consensus.confidence[task]:.0%})",
            _who_said_what(crowd, answers[task]),
        )
    title = f"{min(len(rescued), EXAMPLES)} of the {len(rescued)} tasks where plurality is wrong and gem is right"
    return title, table


def _who_said_what(crowd: SimulatedCrowd, answers: list[tuple[Any, Any]]) -> Text:
    from rich.text import Text

    by_label: dict[Any, list[Text]] = defaultdict(list)
    for annotator, label in answers:
        kind = crowd.kinds[annotator]
        by_label[label].append(Text(f"{annotator} ({kind})", style=_COLOURS[kind]))
    return Text("\n").join(
        Text(f"{label}: ") + Text(", ").join(names)
        for label, names in sorted(by_label.items(), key=lambda each: -len(each[1]))
    )


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD)
