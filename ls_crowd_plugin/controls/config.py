"""From a label config to its categorical controls, and by name and reason those that are left out.

The XML is read here and not with the SDK's LabelInterface because that knows neither which controls are conditional nor
the paths of a taxonomy, and takes seconds to import; the tests hold the two against each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException, ElementTree

from ..errors import UnusableInput
from .choices import Choices
from .control import NO, YES, Control, Frame, Item, Question
from .nested import NestedChoices
from .pairwise import Pairwise
from .rating import Rating
from .region import REGION, Detail, Regions
from .taxonomy import Taxonomy, path_name


@dataclass(frozen=True)
class LeftOut:
    """A control that is not aggregated, and why."""

    name: str
    tag: str
    reason: str


@dataclass(frozen=True)
class Config:
    controls: tuple[Control, ...]
    left_out: tuple[LeftOut, ...]
    objects: Mapping[str, str] = field(default_factory=dict)  # what is shown → the field of `task.data` that it shows
    regions: tuple[Regions, ...] = ()

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(question for control in self.controls for question in control.questions)

    def knowing(self, results: Sequence[Sequence[Item]]) -> Config:
        """The same with the labels that only annotators' results tell (taxonomies loaded from elsewhere)."""
        controls = tuple(
            control.knowing(_by_control(result).get(control.name, []) for result in results)
            if isinstance(control, Taxonomy)
            else control
            for control in self.controls
        )
        return replace(self, controls=controls)

    def read(self, result: Sequence[Item]) -> dict[str, str]:
        """Question → label: what one annotation says; what cannot be read says nothing, not even "none"."""
        items = _by_control(result)
        return {
            question: label
            for control in self.controls
            if _readable(result, control.name)
            for question, label in control.read(items.get(control.name, [])).items()
        }

    def read_field(self, value: Any) -> dict[str, str] | None:
        """Question → label: what a field of `task.data` names as known; None if it names anything that is not there.

        It is a label where the project has one control, or a mapping from controls to a label, a list of them (multiple
        choice; paths of a taxonomy are lists too), or from single questions to a label.
        """
        controls = {control.name: control for control in self.controls}
        if not isinstance(value, dict):
            if len(controls) != 1:
                return None
            value = {next(iter(controls)): value}
        known: dict[str, str] = {}
        labels = {question.name: question.labels for question in self.questions}
        for name, said in value.items():
            if name in labels and str(said) in labels[name]:
                known[name] = str(said)
            elif name in controls:
                said_of_control = _known(controls[name], said)
                if not said_of_control:
                    return None
                known |= said_of_control
            else:
                return None
        return known

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        """The result items that say these labels."""
        return [item for control in self.controls for item in control.write(labels)]


def read_config(label_config: str) -> Config:
    """The controls of a label config."""
    try:
        root: Element = ElementTree.fromstring(label_config)
    except (ParseError, DefusedXmlException) as error:
        message = f"The label config is not XML ({error}); open it in Label Studio and save it again."
        raise UnusableInput(message) from None
    controls: list[Control] = []
    left_out: list[LeftOut] = []
    regions = _regions(root)
    drawing = {control.name for control in regions} | {each.frame.name for one in regions for each in one.details}
    for element, conditional in _walk(root, False):
        name, objects = element.get("name"), element.get("toName")
        if name in drawing:
            continue
        if name is None or objects is None or element.tag in HELPERS:
            continue
        reason = _reason_to_leave_out(element)
        if reason:
            left_out.append(LeftOut(name, element.tag, reason))
            continue
        frame = Frame(
            name=name,
            to_name=objects.split(",")[0].strip(),
            type=element.tag.lower(),
            empty_is_answer=not conditional and not _true(element.get("required")),
        )
        controls.append(KINDS[element.tag](element, frame))
    shown = {name: field_ for name, (_, field_) in _objects(root).items() if field_}
    return Config(tuple(controls), tuple(left_out), shown, regions)


HELPERS = frozenset({"Filter", "Shortcut", "Relations", "Relation", "Magicwand"})  # annotators answer nothing with them


def _choices(element: Element, frame: Frame) -> Control:
    multiple = element.get("choice") == "multiple"
    paths = {path_name(path): path for path in _paths(element, ())}
    if _true(element.get("allowNested")):
        return NestedChoices(frame, paths, multiple)
    return Choices(frame, tuple(dict.fromkeys(path[-1] for path in paths.values())), multiple)


def _taxonomy(element: Element, frame: Frame) -> Control:
    paths = {path_name(path): path for path in _paths(element, ())}
    return Taxonomy(frame, paths, multiple=element.get("maxUsages") != "1", open=not paths)


def _rating(element: Element, frame: Frame) -> Control:
    most = element.get("maxRating") or "5"
    if not most.isdecimal() or int(most) < 1:
        raise UnusableInput(f"Rating {frame.name!r} has maxRating {most!r}; use a whole number.")
    return Rating(frame, int(most))


KINDS: dict[str, Callable[[Element, Frame], Control]] = {
    "Choices": _choices,
    "Taxonomy": _taxonomy,
    "Rating": _rating,
    "Pairwise": lambda _, frame: Pairwise(frame),
}


def _reason_to_leave_out(element: Element) -> str:
    if _true(element.get("perRegion")):
        return "it is about regions, and not one choice about regions that are aggregated"
    if _true(element.get("perItem")):
        return "it is about items of a list, not about the task"
    if "{{" in (element.get("name") or ""):
        return "it is repeated for items of a list"
    if element.tag.endswith("Labels") or element.tag in SHAPES_LEFT_OUT:
        return "regions of this kind are not aggregated"
    if element.tag not in KINDS:
        return "it is not categorical"
    if element.tag == "Choices" and not element.findall(".//Choice"):
        return "its choices come from the task's data"
    return ""


SHAPES_LEFT_OUT = frozenset({"Brush", "Ellipse", "KeyPoint", "Polygon", "Rectangle", "Bitmask", "Vector", "Chat"})
SPANS = {"Text": "span", "HyperText": "hypertext", "Paragraphs": "paragraphs"}  # object → shape of what is marked in it
SPAN_CONTROLS = {"Labels": "labels", "HyperTextLabels": "hypertextlabels", "ParagraphLabels": "paragraphlabels"}
BOX_CONTROLS = {"RectangleLabels": "rectanglelabels", "Rectangle": ""}


def _objects(root: Element) -> dict[str, tuple[str, str]]:
    """What is shown, by name → its tag, and the field of `task.data` it shows, where there is one."""
    found = {}
    for element in root.iter():
        name, value = element.get("name"), element.get("value") or ""
        if name is not None and element.get("toName") is None:
            found[name] = (element.tag, value[1:] if value.startswith("$") else "")
    return found


def _regions(root: Element) -> tuple[Regions, ...]:
    """The controls that draw, each with the controls that say something about what was drawn."""
    tags = {name: tag for name, (tag, _) in _objects(root).items()}
    about: dict[str, list[Detail]] = defaultdict(list)
    drawing = []
    for element in root.iter():
        name, shown = element.get("name"), (element.get("toName") or "").strip()
        if name is None or shown not in tags or "{{" in name:
            continue
        frame = Frame(name, shown, element.tag.lower(), empty_is_answer=False)
        if element.tag in SPAN_CONTROLS and tags[shown] in SPANS:
            drawing.append(Regions(frame, SPANS[tags[shown]], SPAN_CONTROLS[element.tag], _label_names(element)))
        elif element.tag in BOX_CONTROLS and tags[shown] == "Image":
            key = BOX_CONTROLS[element.tag]
            drawing.append(Regions(frame, "box", key, _label_names(element) if key else (REGION,)))
        elif element.tag == "Labels" and tags[shown] == "Image":  # names what another control draws
            about[shown].append(Detail(frame, "labels", _label_names(element)))
        elif element.tag == "Choices" and _true(element.get("perRegion")) and element.get("choice") != "multiple":
            names = tuple(dict.fromkeys(path[-1] for path in _paths(element, ())))
            if names and not _true(element.get("allowNested")):
                about[shown].append(Detail(frame, "choices", names))
    return tuple(replace(each, details=tuple(about[each.frame.to_name])) for each in drawing if each.labels)


def _label_names(element: Element) -> tuple[str, ...]:
    names = (label.get("alias") or label.get("value") for label in element.iter("Label"))
    return tuple(dict.fromkeys(name for name in names if name))


def _walk(element: Element, conditional: bool) -> Iterator[tuple[Element, bool]]:
    """Every element, and whether it is shown only under some condition."""
    conditional = conditional or element.get("visibleWhen") is not None or element.get("whenTagName") is not None
    yield element, conditional
    for child in element:
        yield from _walk(child, conditional)


def _paths(element: Element, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for choice in element:
        if choice.tag != "Choice":  # a View to arrange them, say
            yield from _paths(choice, above)
            continue
        name = choice.get("alias") or choice.get("value")
        if not name:
            continue
        path = (*above, name)
        yield path
        yield from _paths(choice, path)


def _true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "1", "yes")


def _known(control: Control, said: Any) -> dict[str, str]:
    """Question → label for one control, from a label or, where several may be chosen, a list of them."""
    labels = {question.name: question.labels for question in control.questions}
    if control.name in labels:
        label = path_name(tuple(map(str, said))) if isinstance(said, list) else str(said)
        return {control.name: label} if label in labels[control.name] else {}
    chosen = said if isinstance(said, list) else [said]
    names = {
        f"{control.name}: {path_name(tuple(map(str, label))) if isinstance(label, list) else label}" for label in chosen
    }
    return {name: YES if name in names else NO for name in labels} if names <= labels.keys() else {}


def _readable(result: Sequence[Item], control: str) -> bool:
    """Whether every item that is, or may be, about a control has the form of one."""
    return all(
        isinstance(item, dict) and (item.get("from_name") != control or isinstance(item.get("value"), dict))
        for item in result
    )


def _by_control(result: Sequence[Item]) -> dict[str, list[Item]]:
    """Items by control; what has no name or no value says nothing."""
    items: dict[str, list[Item]] = defaultdict(list)
    for item in result:
        if isinstance(item, dict) and isinstance(item.get("value"), dict) and isinstance(item.get("from_name"), str):
            items[item["from_name"]].append(item)
    return items
