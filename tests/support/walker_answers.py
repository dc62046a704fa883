"""Label configs for walks, and what people answer with their controls: usual answers, and absurd ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ls_crowd_plugin.records import Json

TEXT = '<Text name="text" value="$text"/>'
IMAGE = '<Image name="image" value="$image"/>'
HUGE = 10**400  # larger than any float
WORDS = 'Anna met Bob in Paris. "{}"'  # what tasks say, with a name of the task's own


@dataclass(frozen=True)
class Kind:
    """A kind of project: its controls in XML, with a gap for one more label, and how somebody answers them."""

    name: str
    controls: str
    more: Sequence[str]  # what may fill the gap
    answer: Callable[[random.Random], list[Json]]
    question: str  # one that can have gold
    gold: Sequence[str]

    def config(self, more: str = "") -> str:
        return f"<View>{TEXT}{IMAGE}{self.controls.format(more)}</View>"


def item(name: str, kind: str, value: Json, to_name: str = "text") -> Json:
    return {"from_name": name, "to_name": to_name, "type": kind, "value": value}


def _answer_choices(chance: random.Random) -> list[Json]:
    topics = [topic for topic in ("sport", "money") if chance.random() < 0.4]
    answer = [item("mood", "choices", {"choices": [chance.choice(("glad", "glad", "sad", "angry"))]})]
    return answer + ([item("topics", "choices", {"choices": topics})] if topics else [])


def _answer_spans(chance: random.Random) -> list[Json]:
    spans = [(0, 4), (9, 12), (16, 21)]
    answer = [item("stars", "rating", {"rating": chance.randint(1, 3)})]
    for number, (start, end) in enumerate(spans):
        if chance.random() < 0.6:
            moved = chance.choice((0, 0, 1))
            label = chance.choice(("PER", "PER", "LOC"))
            value = {"start": start + moved, "end": end + moved, "text": "", "labels": [label]}
            answer.append({"id": f"s{number}", **item("entity", "labels", value)})
    return answer


def _answer_boxes(chance: random.Random) -> list[Json]:
    answer = [item("mood", "choices", {"choices": [chance.choice(("glad", "sad"))]})]
    for number, corner in enumerate((5, 40, 70)):
        if chance.random() < 0.6:
            size = chance.choice((15, 16, 18))
            value: Json = {"x": corner, "y": corner, "width": size, "height": 15, "rotation": 0}
            value["rectanglelabels"] = [chance.choice(("car", "car", "bike"))]
            shape = {"original_width": 640, "original_height": 480, "image_rotation": 0}
            answer.append({"id": f"b{number}", **shape, **item("thing", "rectanglelabels", value, "image")})
    return answer


KINDS = (
    Kind(
        "choices",
        '<Choices name="mood" toName="text" required="true"><Choice value="glad"/><Choice value="sad"/>'
        '<Choice value="angry"/>{}</Choices><Choices name="topics" toName="text" choice="multiple">'
        '<Choice value="sport"/><Choice value="money"/></Choices>',
        ('<Choice value="bored"/>', '<Choice value="bored" alias="b"/><Choice value="proud"/>'),
        _answer_choices,
        "mood",
        ("glad", "sad", "angry"),
    ),
    Kind(
        "spans",
        '<Labels name="entity" toName="text"><Label value="PER"/><Label value="LOC"/>{}</Labels>'
        '<Rating name="stars" toName="text" maxRating="3"/>',
        ('<Label value="ORG"/>',),
        _answer_spans,
        "stars",
        ("1", "2", "3"),
    ),
    Kind(
        "boxes",
        '<RectangleLabels name="thing" toName="image"><Label value="car"/><Label value="bike"/>{}</RectangleLabels>'
        '<Choices name="mood" toName="text"><Choice value="glad"/><Choice value="sad"/></Choices>',
        ('<Label value="bus"/>',),
        _answer_boxes,
        "mood",
        ("glad", "sad"),
    ),
)
# Configs that nothing can be aggregated with; where there are annotations, Label Studio may refuse one or the other.
UNUSABLE = (
    f"<View>{TEXT}</View>",
    f'<View>{TEXT}<TextArea name="remark" toName="text"/></View>',
    "<View></View>",
)


def absurd_answers() -> list[tuple[str, list[Json]]]:
    """Results that no page sends, and that Label Studio accepts all the same, with a name for each.

    Text with a lone surrogate is not among them: Label Studio stores it, and then cannot list the project's tasks to
    anybody.
    """
    box: Json = {"x": 5, "y": 5, "width": 10, "height": 10, "rotation": 0, "rectanglelabels": ["car"]}

    def boxes(**changes: object) -> list[Json]:
        shape = {"original_width": 640, "original_height": 480, "image_rotation": 0}
        return [{"id": "b0", **shape, **item("thing", "rectanglelabels", {**box, **changes}, "image")}]

    def span(**changes: object) -> list[Json]:
        return [{"id": "s0", **item("entity", "labels", {"start": 0, "end": 4, "labels": ["PER"], **changes})}]

    return [
        ("an empty result", []),
        ("a rating of 1 and 400 zeros", [item("stars", "rating", {"rating": HUGE})]),
        ("a rating of -1", [item("stars", "rating", {"rating": -1})]),
        ("a rating that is a word", [item("stars", "rating", {"rating": "NaN"})]),
        ("an unknown choice", [item("mood", "choices", {"choices": ["no such label"]})]),
        ("two choices of one", [item("mood", "choices", {"choices": ["glad", "sad"]})]),
        ("choices that are no list", [item("mood", "choices", {"choices": "glad"})]),
        ("choices within choices", [item("mood", "choices", {"choices": [["glad"], ["sad"]]})]),
        ("a value that is no object", [{"from_name": "mood", "to_name": "text", "type": "choices", "value": 7}]),
        ("an unknown control", [item("nobody", "choices", {"choices": ["glad"]})]),
        ("an item without anything", [{}]),
        ("a box at NaN", boxes(x="NaN", y="nan")),
        ("a box of infinite size", boxes(width=HUGE, height="Infinity")),
        ("a box without labels", boxes(rectanglelabels=[])),
        ("a box turned without end", boxes(rotation=HUGE)),
        ("a box of negative size", boxes(width=-10, height=0)),
        ("a span that ends before it starts", span(start=9, end=2)),
        ("a span beyond every text", span(start=0, end=HUGE)),
        ("a span with offsets in words", span(start="0", end="four")),
    ]
