"""The summary names what a person wants to know first, whatever the ids look like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from ls_crowd_plugin.cli.files import AnswerColumns, GoldKey
from ls_crowd_plugin.cli.summary import listed, printable, summary
from ls_crowd_plugin.records import AnnotatorScore

if TYPE_CHECKING:
    from ls_crowd_plugin.aggregation import Consensus


def _score(annotator: str, verdict: str, adversary_probability: float) -> AnnotatorScore:
    return AnnotatorScore(annotator, 3, 0, 0, 1.0, 0.1, adversary_probability, 1.0, 0.9, verdict)


class KnownConsensus:
    """A consensus of three people on four tasks, two of them gold."""

    facts: ClassVar = {"method": "gem", "form": "paper", "why": "it was asked for", "iterations": 12}
    warnings = ()
    plurality_disagreements = 1
    tasks = (
        {
            "task": "t1",
            "question": "q",
            "label": "a",
            "confidence": 1.0,
            "difficulty": 9.0,
            "answers": 3,
            "state": "settled",
        },
        {
            "task": "t2",
            "question": "q",
            "label": "b",
            "confidence": 0.9,
            "difficulty": 5.0,
            "answers": 3,
            "state": "open",
        },
        {
            "task": "t3",
            "question": "q",
            "label": "a",
            "confidence": 0.5,
            "difficulty": 1.0,
            "answers": 2,
            "state": "undecided",
        },
        {
            "task": "t4",
            "question": "q",
            "label": "a",
            "confidence": 1.0,
            "difficulty": None,
            "answers": 0,
            "state": "settled",
        },
    )
    scores = (_score("ann", "trusted", 0.01), _score("bob\n", "contrary", 0.91), _score("cy", "contrary", 0.99))
    gold_agreement = (1, 0)


def lines() -> dict[str, str]:
    answers = AnswerColumns(["t1"] * 8, ["ann"] * 8, ["a"] * 8, ["q"] * 8)
    gold: dict[GoldKey, str] = {("t1", "q"): "a", ("t4", "q"): "a"}
    text = summary(answers, gold, cast("Consensus", KnownConsensus()), [Path("out/run.json")])
    return {line[:12].strip(): line[12:] for line in text.splitlines()}


def test_everything_has_its_line() -> None:
    assert lines() == {
        "Input": "4 tasks, 8 answers, 3 annotators, 2 gold labels",
        "Method": "gem, form paper (12 iterations): it was asked for",
        "Gold": "without knowing them, the consensus gets 0 of 1 gold label right (0.0%)",
        "Plurality": "labels that differ from the most frequent answer: 1",
        "Annotators": "1 trusted, 2 contrary",
        "Contrary": "cy (99% confident), bob\\n (91% confident)",
        "Undecided": "t3 / q",
        "Confidence": "lowest for t3 / q: a (50%); t2 / q: b (90%)",
        "Hardest": "t2 / q: b (90%); t3 / q: a (50%)",
        "Written": "out/run.json",
    }


def test_names_are_enumerated_as_in_a_sentence() -> None:
    assert [listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_text_for_the_terminal_is_harmless() -> None:
    assert printable("plain – žluť 🐈") == "plain – žluť 🐈"
    assert printable("\x1b[2J\n") == "\\x1b[2J\\n"
    assert len(printable("x" * 100)) == 40
