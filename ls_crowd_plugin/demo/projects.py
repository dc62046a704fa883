"""The demo's two projects and twenty people: the tasks, the right labels, and what each person would answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..records import Json
from .pictures import SHAPES, picture
from .sentences import TOPICS, sentences

ANNOTATIONS_PER_TASK = 5
SHARE_KNOWN = {"expert": 0.98, "sloppy": 0.6, "spammer": 0.0, "adversary": 0.9}  # of easy tasks, by kind
MEDIAN_SECONDS = {"expert": 14.0, "sloppy": 7.0, "spammer": 1.5, "adversary": 9.0}  # per answer, by kind


@dataclass(frozen=True)
class Person:
    name: str
    kind: str  # expert, sloppy, spammer, adversary

    @property
    def email(self) -> str:
        return f"{self.name.lower().replace(' ', '.')}@example.com"

    def answer(self, generator: np.random.Generator, right: int, difficulty: float, labels: int) -> int:
        """Return this person's label for a task; a difficulty of 1 makes everybody guess."""
        knows = generator.random() < SHARE_KNOWN[self.kind]
        if not knows or generator.random() < difficulty:
            return int(generator.integers(labels))
        if self.kind == "adversary":
            return int((right + generator.integers(1, labels)) % labels)
        return right

    def seconds(self, generator: np.random.Generator) -> float:
        """Return how long this person takes for an answer."""
        return round(float(MEDIAN_SECONDS[self.kind] * generator.lognormal(0.0, 0.4)), 2)


PEOPLE = [
    *(Person(name, "expert") for name in ("Ada Berg", "Ben Castro", "Chloe Dunn", "Dario Egger", "Elif Faust")),
    *(Person(name, "sloppy") for name in ("Finn Gomez", "Greta Holm", "Hugo Ivers", "Ines Jung", "Jonas Klein")),
    *(Person(name, "spammer") for name in ("Kira Lund", "Leo Marsh", "Mia Novak", "Nils Olsen", "Olga Peeters")),
    *(Person(name, "spammer") for name in ("Pablo Quinn",)),
    *(Person(name, "adversary") for name in ("Rosa Stein", "Sven Tran", "Tara Ullman", "Ugo Varga")),
]


@dataclass(frozen=True)
class DemoProject:
    """A project with one control. `data`, `truth` and `difficulty` are in the order of the tasks."""

    title: str
    label_config: str
    control: str
    shown: str  # name of the object that the control is about
    labels: list[str]
    data: list[Json]
    truth: list[int]
    difficulty: list[float]
    gold: int  # number of tasks with a gold label; these are the first ones

    def result(self, label: int) -> list[Json]:
        """Return the result of an annotation with this label."""
        value = {"choices": [self.labels[label]]}
        return [{"from_name": self.control, "to_name": self.shown, "type": "choices", "value": value}]


def texts() -> DemoProject:
    """Return the project that asks which topic a sentence is about."""
    generator = np.random.default_rng(1)
    truth = generator.permutation(np.repeat(np.arange(len(TOPICS)), 40)).tolist()
    data = [{"text": sentence} for sentence in sentences(generator, truth)]
    return DemoProject(
        title="Demo: topics of sentences",
        label_config=_label_config(
            '<Header value="What is this sentence about?"/>\n  <Text name="text" value="$text"/>',
            control="topic",
            shown="text",
            labels=TOPICS,
        ),
        control="topic",
        shown="text",
        labels=TOPICS,
        data=data,
        truth=truth,
        difficulty=_difficulty(generator, len(data)),
        gold=20,
    )


def pictures() -> DemoProject:
    """Return the project that asks which shape is most frequent in a picture."""
    generator = np.random.default_rng(2)
    truth = generator.permutation(np.repeat(np.arange(len(SHAPES)), 20)).tolist()
    data = [{"image": picture(generator, most_frequent)} for most_frequent in truth]
    return DemoProject(
        title="Demo: shapes in pictures",
        label_config=_label_config(
            '<Header value="Which shape is there most often?"/>\n  <Image name="image" value="$image"/>',
            control="shape",
            shown="image",
            labels=SHAPES,
        ),
        control="shape",
        shown="image",
        labels=SHAPES,
        data=data,
        truth=truth,
        difficulty=_difficulty(generator, len(data)),
        gold=12,
    )


def _label_config(objects: str, control: str, shown: str, labels: list[str]) -> str:
    choices = "".join(f'\n    <Choice value="{label}"/>' for label in labels)
    return (
        f'<View>\n  {objects}\n  <Choices name="{control}" toName="{shown}" choice="single" required="true">{choices}\n'
        "  </Choices>\n</View>"
    )


def _difficulty(generator: np.random.Generator, tasks: int) -> list[float]:
    """Return the probability, by task, that even somebody who knows the label guesses."""
    return [float(share) for share in generator.beta(0.5, 3.0, tasks) * 0.8]
