"""Repeats the paper's experiments and prints the errors beside the paper's: python -m benchmarks.paper [--uci FOLDER].

Errors are per 100 tasks, without the probes. ORACLE knows every true parameter; no method can do better.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ls_crowd_plugin.aggregation import aggregate
from ls_crowd_plugin.demo import crowds, oracle

from . import paper_figures
from .text_table import Cell, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ls_crowd_plugin.demo import SimulatedCrowd

SYNTHETIC_METHODS = ["PLU", "SS-PLU", "US-SW", "SS-SW", "US-NEG", "SS-NEG", "US-HYB", "US-GEM", "SS-GEM", "ORACLE"]
UNSUPERVISED_METHODS = ["PLU", "US-SW", "US-NEG", "US-HYB", "US-GEM", "ORACLE"]
CLASSIFIER_METHODS = ["PLU", "SS-PLU", "US-SW", "SS-SW", "US-NEG", "SS-NEG", "US-HYB", "US-GEM", "SS-GEM"]


@dataclass
class Tally:
    """The results for a set of crowds: errors of every method, and whom SS-GEM calls an adversary."""

    errors: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    skilled_adversaries: list[bool] = field(
        default_factory=list
    )  # one entry per annotator: whether called an adversary
    honest: list[bool] = field(default_factory=list)

    def mean(self, method: str) -> float:
        """Return the mean errors per 100 tasks."""
        return float(np.mean(self.errors[method]))

    def ratio(self, method: str, other: str) -> float | None:
        """Return the mean errors of one method divided by those of the other."""
        divisor = self.mean(other)
        return self.mean(method) / divisor if divisor else None


def main() -> None:
    """Print the chosen tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=None, help="which of 1,2,5,6,7 and, with --uci, 3,8,9; default all of them")
    parser.add_argument("--crowds", type=int, default=40, help="crowds per row of Tables 1, 2, 5, 6, 7 (default 40)")
    parser.add_argument("--trials", type=int, default=5, help="crowds per row of Tables 3, 8, 9 (default 5)")
    parser.add_argument("--uci", type=Path, help="folder with pendigits.tra, dermatology.data, vowel-context.data")
    parser.add_argument(
        "--form", help="form of GEM: leave out for the product's own choice, 'paper' for the literal one"
    )
    options = parser.parse_args()
    chosen = options.tables or ("1,2,5,6,7,3,8,9" if options.uci else "1,2,5,6,7")
    for table in [int(number) for number in chosen.split(",")]:
        if table in (3, 8, 9):
            if not options.uci:
                parser.error(f"Table {table} needs the UCI files; give their folder with --uci.")
            print_classifier_table(table, options.uci, options.trials, options.form)
        elif table in SYNTHETIC_TABLES:
            SYNTHETIC_TABLES[table](options.crowds, options.form)
        else:
            parser.error(f"Table {table} cannot be repeated; choose among 1, 2, 3, 5, 6, 7, 8, 9.")


def tally_crowds(simulated: Iterable[SimulatedCrowd], methods: list[str], form: str | None) -> Tally:
    """Run the methods on every crowd."""
    tally = Tally()
    for crowd in simulated:
        for method in methods:
            if method == "ORACLE":
                tally.errors[method].append(errors(crowd, oracle(crowd)))
                continue
            result = run(crowd, method, form)
            tally.errors[method].append(errors(crowd, result.labels))
            if method == "SS-GEM" and crowd.adversary is not None:
                _note_adversaries(tally, crowd, result)
    return tally


def run(crowd: SimulatedCrowd, method: str, form: str | None = None) -> Any:
    """Run a method by the paper's name for it: US- without gold, SS- with gold."""
    short = method.removeprefix("US-").removeprefix("SS-").lower()
    return aggregate(
        crowd.tasks,
        crowd.annotators,
        crowd.labels,
        gold=crowd.gold if method.startswith("SS-") else None,
        method=short,
        label_set=crowd.label_set,
        form=form if short == "gem" else None,
    )


def errors(crowd: SimulatedCrowd, labels: Mapping[Any, Any]) -> float:
    """Return the errors per 100 tasks without the probes; a task that nobody answered counts as a random guess."""
    guess_error = 1 - 1 / len(crowd.label_set)
    judged = [task for task in crowd.truth if task not in crowd.gold]
    wrong = [float(labels[task] != crowd.truth[task]) if task in labels else guess_error for task in judged]
    return 100 * sum(wrong) / len(wrong)


def _note_adversaries(tally: Tally, crowd: SimulatedCrowd, result: Any) -> None:
    """Count honest annotators, and adversaries whose skill exceeds the difficulty of a quarter of the tasks.

    The other adversaries only guess.
    """
    assert crowd.skill is not None
    assert crowd.difficulty is not None
    assert crowd.adversary is not None
    called = {row["annotator"]: row["adversary_probability"] > 0.5 for row in result.annotators}
    for annotator, skill, adversary in zip(crowd.kinds, crowd.skill, crowd.adversary, strict=True):
        if not adversary:
            tally.honest.append(called[annotator])
        elif (crowd.difficulty < skill).mean() >= 0.25:
            tally.skilled_adversaries.append(called[annotator])


def _print_generative(
    title: str,
    condition: str,
    figures: paper_figures.Rows,
    make: Callable[[float, int], SimulatedCrowd],
    count: int,
    form: str | None,
) -> None:
    """Print Table 1 or 2: errors, ratios, and how many annotators were called adversaries."""
    error_rows: list[list[Cell]] = []
    ratio_rows: list[list[Cell]] = []
    for (value,), printed in figures.items():
        tally = tally_crowds((make(value, seed) for seed in range(count)), SYNTHETIC_METHODS, form)
        error_rows.append([f"{value:g}", *(tally.mean(method) for method in SYNTHETIC_METHODS)])
        error_rows.append(["  paper", *(printed.get(method) for method in SYNTHETIC_METHODS)])
        ratio_rows.append(
            [
                f"{value:g}",
                tally.ratio("SS-GEM", "PLU"),
                printed["SS-GEM"] / printed["PLU"],
                tally.ratio("SS-GEM", "ORACLE"),
                (tally.mean("SS-GEM") - 0.3) / tally.mean("ORACLE") if tally.mean("ORACLE") else None,
                f"{_percent(tally.skilled_adversaries)} of {len(tally.skilled_adversaries)}",
                f"{_percent(tally.honest)} of {len(tally.honest)}",
            ]
        )
    print_table(f"{title}; {count} crowds", [condition, *SYNTHETIC_METHODS], error_rows)
    header = [
        condition,
        "SS-GEM/PLU",
        "paper's",
        "SS-GEM/ORACLE",
        "(SS-GEM-0.3)/ORACLE",
        "adversaries called",
        "honest called",
    ]
    print_table(
        "Ratios; skilled adversaries and honest annotators given more than 1/2 by SS-GEM", header, ratio_rows, 2
    )


def _percent(called: list[bool]) -> str:
    return f"{100 * float(np.mean(called)):.1f} %" if called else "-"


def print_table_1(count: int, form: str | None) -> None:
    """Print the table by task variance."""
    _print_generative(
        "Table 1: errors per 100 non-probe tasks by variance of the difficulty, 100 answers per task",
        "variance",
        paper_figures.TABLE_1,
        lambda variance, seed: crowds.generative_crowd(seed, task_variance=variance),
        count,
        form,
    )


def print_table_2(count: int, form: str | None) -> None:
    """Print the table by answers per task."""
    _print_generative(
        "Table 2: errors per 100 non-probe tasks by answers per task, variance of the difficulty 2000",
        "answers",
        paper_figures.TABLE_2,
        lambda degree, seed: crowds.generative_crowd(seed, task_variance=2000, answers_per_task=int(degree)),
        count,
        form,
    )


def _print_kinds(
    title: str,
    figures: paper_figures.Rows,
    make: Callable[[int, float, float], SimulatedCrowd],
    count: int,
    form: str | None,
) -> None:
    """Print Table 5 or 6: no probes, rows by two percentages."""
    rows: list[list[Cell]] = []
    for (adversaries, others), printed in figures.items():
        made = (make(seed, others / 100, adversaries / 100) for seed in range(count))
        tally = tally_crowds(made, UNSUPERVISED_METHODS, form)
        ours: list[Cell] = [tally.mean(method) for method in UNSUPERVISED_METHODS]
        ratios: list[Cell] = [tally.ratio("US-NEG", "PLU"), printed["US-NEG"] / printed["PLU"]]
        rows.append([f"{adversaries:g} {others:g}", *ours, *(f"{ratio:.2f}" for ratio in ratios)])
        rows.append(["  paper", *(printed.get(method) for method in UNSUPERVISED_METHODS), "", ""])
    header = ["adv. % others %", *UNSUPERVISED_METHODS, "NEG/PLU", "paper's"]
    print_table(f"{title}; {count} crowds", header, rows)


def print_table_5(count: int, form: str | None) -> None:
    """Print the table of hammers, spammers and adversaries."""
    title = "Table 5: errors per 100 tasks with hammers, spammers (others %) and adversaries, 0 to 15 answers per task"
    _print_kinds(title, paper_figures.TABLE_5, crowds.hammers_and_spammers_crowd, count, form)


def print_table_6(count: int, form: str | None) -> None:
    """Print the table of skilled and low-skilled annotators and skilled adversaries."""
    title = "Table 6: errors per 100 tasks with low-skilled (others %) and skilled adversaries, 25 answers per task"
    _print_kinds(title, paper_figures.TABLE_6, crowds.skilled_crowd, count, form)


def print_table_7(count: int, form: str | None) -> None:
    """Print how often HYB beats SW both in errors and in the objective they share."""
    del form  # no GEM here
    rows: list[list[Cell]] = []
    for (adversaries, spammers), printed in paper_figures.TABLE_7.items():
        better = fewer = higher = 0
        for seed in range(count):
            crowd = crowds.hammers_and_spammers_crowd(seed, spammers / 100, adversaries / 100)
            hybrid, single = run(crowd, "US-HYB"), run(crowd, "US-SW")
            has_fewer = errors(crowd, hybrid.labels) < errors(crowd, single.labels)
            has_higher = hybrid.facts["objective"] > single.facts["objective"]
            better += has_fewer and has_higher
            fewer += has_fewer
            higher += has_higher
        shares = [100 * number / count for number in (better, fewer, higher)]
        rows.append([f"{adversaries:g} {spammers:g}", *shares, printed])
    header = ["adv. % spammers %", "both", "fewer errors", "higher objective", "paper (both)"]
    print_table(f"Table 7: of 100 trials, those in which HYB beats SW; {count} crowds", header, rows, 0)


SYNTHETIC_TABLES: dict[int, Callable[[int, str | None], None]] = {
    1: print_table_1,
    2: print_table_2,
    5: print_table_5,
    6: print_table_6,
    7: print_table_7,
}


def print_classifier_table(table: int, folder: Path, trials: int, form: str | None) -> None:
    """Print Table 3, 8 or 9: crowds of boosted classifiers, without and with a tenth replaced by adversaries."""
    from . import boosted  # needs scikit-learn

    name, figures = {
        3: ("Pen Digits, odd digits", paper_figures.TABLE_3),
        8: ("Dermatology", paper_figures.TABLE_8),
        9: ("Vowel", paper_figures.TABLE_9),
    }[table]
    domain = boosted.read_domain(folder, table)
    accuracies = boosted.level_accuracies(domain, seed=table)
    rows: list[list[Cell]] = []
    made_before: dict[float, list[SimulatedCrowd]] = {}  # the row with adversaries has the crowds of the row without
    for (mean, variance, adversaries), printed in figures.items():
        if mean not in made_before:
            shares = boosted.level_shares(accuracies, mean, variance)
            made_before[mean] = [boosted.boosted_crowd(domain, shares, seed) for seed in range(trials)]
        honest = made_before[mean]
        reached = np.mean([boosted.accuracy_of_annotators(crowd) for crowd in honest], axis=0)
        made = honest
        if adversaries:
            made = [boosted.with_adversaries(crowd, adversaries / 100, seed) for seed, crowd in enumerate(honest)]
        tally = tally_crowds(made, CLASSIFIER_METHODS, form)
        figures_of_ours = [tally.mean(method) for method in CLASSIFIER_METHODS]
        rows.append([f"{adversaries:g} %", f"{reached[0]:.1f}", f"{reached[1]:.0f}", *figures_of_ours])
        paper_row = [printed.get(method) for method in CLASSIFIER_METHODS]
        rows.append(["  paper", f"{mean:.1f}", f"{variance:.0f}", *paper_row])
    header = ["adversaries", "accuracy %", "variance", *CLASSIFIER_METHODS]
    print_table(f"Table {table}: errors per 100 non-probe tasks, {name}; {trials} crowds", header, rows)


if __name__ == "__main__":
    main()
