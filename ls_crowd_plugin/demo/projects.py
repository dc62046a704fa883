"""The demo's two projects and its twenty people: what is asked, what is right, and what each of them would say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .pictures import SHAPES, picture
from .sentences import TOPICS, sentences

PER_TASK = 5  # answers that a task is to have


@dataclass(frozen=True)
class Person:
    name: str
    kind: str  # expert, sloppy, spammer, adversary

    @property
    def email(self) -> str:
        return f"{self.name.lower().replace(' ', '.')}@example.com"

    def answers(self, generator: np.random.Generator, right: int, hardness: float, labels: int) -> int:
        """What this person says where the right label is this one; a hardness of 1 makes an expert guess."""
        knows = generator.random() < {"expert": 0.98, "sloppy": 0.6, "spammer": 0.0, "adversary": 0.9}[self.kind]
        if not knows or generator.random() < hardness:
            return int(generator.integers(labels))
        if self.kind == "adversary":
            return int((right + generator.integers(1, labels)) % labels)
        return right

    def seconds(self, generator: np.random.Generator) -> float:
        """How long this person takes for an answer."""
        usual = {"expert": 14.0, "sloppy": 7.0, "spammer": 1.5, "adversary": 9.0}[self.kind]
        return round(float(usual * generator.lognormal(0.0, 0.4)), 2)


PEOPLE = [
    *(Person(name, "expert") for name in ("Ada Berg", "Ben Castro", "Chloe Dunn", "Dario Egger", "Elif Faust")),
    *(Person(name, "sloppy") for name in ("Finn Gomez", "Greta Holm", "Hugo Ivers", "Ines Jung", "Jonas Klein")),
    *(Person(name, "spammer") for name in ("Kira Lund", "Leo Marsh", "Mia Novak", "Nils Olsen", "Olga Peeters")),
    *(Person(name, "spammer") for name in ("Pablo Quinn",)),
    *(Person(name, "adversary") for name in ("Rosa Stein", "Sven Tran", "Tara Ullman", "Ugo Varga")),
]


@dataclass(frozen=True)
class DemoProject:
    """`data` and `truth` in the order of the tasks; the first `gold` of them have a known label."""

    title: str
    label_config: str
    control: str
    shown: str  # the object that the control is about
    labels: list[str]
    data: list[dict[str, Any]]
    truth: list[int]
    hardness: list[float]
    gold: int

    def result(self, label: int) -> list[dict[str, Any]]:
        """An annotation's result that says this label."""
        value = {"choices": [self.labels[label]]}
        return [{"from_name": self.control, "to_name": self.shown, "type": "choices", "value": value}]


def texts() -> DemoProject:
    """Which topic is a sentence about?"""
    generator = np.random.default_rng(1)
    truth = generator.permutation(np.repeat(np.arange(len(TOPICS)), 40)).tolist()
    data = [{"text": sentence} for sentence in sentences(generator, truth)]
    shown = '<Header value="What is this sentence about?"/>\n  <Text name="text" value="$text"/>'
    config = _config(shown, "topic", "text", TOPICS)
    return DemoProject(
        "Demo: topics of sentences", config, "topic", "text", TOPICS, data, truth, _hardness(generator, len(data)), 20
    )


def pictures() -> DemoProject:
    """Which shape is there most often?"""
    generator = np.random.default_rng(2)
    truth = generator.permutation(np.repeat(np.arange(len(SHAPES)), 20)).tolist()
    data = [{"image": picture(generator, most)} for most in truth]
    shown = '<Header value="Which shape is there most often?"/>\n  <Image name="image" value="$image"/>'
    config = _config(shown, "shape", "image", SHAPES)
    return DemoProject(
        "Demo: shapes in pictures", config, "shape", "image", SHAPES, data, truth, _hardness(generator, len(data)), 12
    )


def _config(shown: str, control: str, of: str, labels: list[str]) -> str:
    choices = "".join(f'\n    <Choice value="{label}"/>' for label in labels)
    return (
        f'<View>\n  {shown}\n  <Choices name="{control}" toName="{of}" choice="single" required="true">{choices}\n'
        "  </Choices>\n</View>"
    )


def _hardness(generator: np.random.Generator, tasks: int) -> list[float]:
    return [float(share) for share in generator.beta(0.5, 3.0, tasks) * 0.8]
