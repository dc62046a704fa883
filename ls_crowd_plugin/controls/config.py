"""Reads a label config: its categorical controls, and those that are left out, with the reason.

The XML is not read with the SDK's LabelInterface, because that knows neither which controls are conditional nor the
paths of a taxonomy, and takes seconds to import. The tests compare the two.

To support another control, write a module like `rating.py` and add its `from_element` to CONTROLS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException, ElementTree

from ..errors import UnusableInput
from ..records import LeftOut
from . import choices, pairwise, rating, taxonomy
from .bounds import MAX_CONFIG_DEPTH, MAX_REGIONS
from .control import Control, ControlSpec, Item, Question, Unreadable, Unsupported
from .elements import depth, is_true, shown_objects, tag_of, walk
from .gold_field import read_gold_field
from .region_config import read_region_controls
from .region_control import RegionControl
from .taxonomy import Taxonomy
from .unique_names import with_unique_names

CONTROLS: dict[str, Callable[[Element, ControlSpec], Control]] = {
    "Choices": choices.from_element,
    "Pairwise": pairwise.from_element,
    "Rating": rating.from_element,
    "Taxonomy": taxonomy.from_element,
}
HELPERS = frozenset({"Filter", "Shortcut", "Relations", "Relation", "Magicwand"})  # nothing is answered with them
OTHER_SHAPES = frozenset({"Brush", "Ellipse", "KeyPoint", "Polygon", "Rectangle", "Bitmask", "Vector", "Chat"})


@dataclass(frozen=True)
class Config:
    """The controls of a label config."""

    controls: tuple[Control, ...]
    left_out: tuple[LeftOut, ...]
    objects: Mapping[str, str] = field(default_factory=dict)  # object on the page → the field of `task.data` it shows
    regions: tuple[RegionControl, ...] = ()

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(question for control in self.controls for question in control.questions)

    @property
    def problem(self) -> str | None:
        """Why nothing can be aggregated, as the end of a sentence about the project; None if something can."""
        if self.controls or self.regions:
            return None
        named = ", ".join(f"{control.name} ({control.tag})" for control in self.left_out) or "none at all"
        return f"has no control that can be aggregated; its controls are: {named}"

    @property
    def ordered(self) -> frozenset[str]:
        """The questions whose labels are a scale."""
        specs = [control.spec for control in self.controls]
        specs += [detail.spec for control in self.regions for detail in control.details]
        return frozenset(spec.name for spec in specs if spec.ordered)

    @property
    def has_open_labels(self) -> bool:
        """Whether there are labels that only the annotations show."""
        return any(isinstance(control, Taxonomy) and control.open for control in self.controls)

    def with_observed_labels(self, results: Iterable[tuple[object, Sequence[Item]]]) -> Config:
        """Return this config with labels that only the annotations show (of taxonomies loaded from elsewhere).

        `results` are who annotated and the result; they are only read if there is such a control.
        """
        waiting = [control for control in self.controls if isinstance(control, Taxonomy) and control.open]
        if not waiting:
            return self
        chosen: dict[str, list[taxonomy.Chosen]] = defaultdict(list)
        for who, result in results:
            items = _items_by_control(result)
            for control in waiting:
                chosen[control.name].append((who, items.get(control.name, [])))
        taken = {question.name for question in self.questions}
        taken |= {question.name for drawn in self.regions for question in drawn.questions}
        complete: dict[str, Control] = {}
        left_out = list(self.left_out)
        for control in waiting:
            complete[control.name], unused = control.with_observed_labels(chosen[control.name], taken)
            taken |= {question.name for question in complete[control.name].questions}
            left_out += unused
        controls = tuple(complete.get(control.name, control) for control in self.controls)
        return replace(self, controls=controls, left_out=tuple(left_out))

    def problem_with(self, result: Sequence[Item]) -> str | None:
        """Return why an annotation with this result cannot be used, in a few words; None if it can."""
        items = _items_by_control(result)
        try:
            for control in self.controls:
                _check_form(result, control.name)
                control.chosen(items.get(control.name, []))
            if sum(len(control.read_strictly(result)) for control in self.regions) > MAX_REGIONS:
                raise Unreadable(f"more than {MAX_REGIONS:,} regions")
        except Unreadable as problem:
            return str(problem)
        return None

    def read(self, result: Sequence[Item]) -> dict[str, str]:
        """Return question → label from one annotation; what cannot be read is no answer, not even "none"."""
        items = _items_by_control(result)
        answers: dict[str, str] = {}
        for control in self.controls:
            with suppress(Unreadable):
                _check_form(result, control.name)
                answers |= control.read(items.get(control.name, []))
        return answers

    def read_gold_field(self, value: object) -> dict[str, str] | None:
        """Return question → label from a field of `task.data`; None if the field names anything unknown."""
        try:
            return read_gold_field(self.controls, value)
        except RecursionError:  # lists in lists without end
            return None

    def write(self, labels: Mapping[str, str]) -> list[Item]:
        """Return the result items for these labels (question → label)."""
        return [item for control in self.controls for item in control.write(labels)]


def read_config(label_config: str) -> Config:
    """Return the controls of a label config."""
    try:
        root: Element = ElementTree.fromstring(label_config)
    except (ParseError, DefusedXmlException, ValueError) as error:
        message = f"The label config is not XML ({error}); open it in Label Studio and save it again."
        raise UnusableInput(message) from None
    if depth(root) > MAX_CONFIG_DEPTH:
        message = f"The label config has elements more than {MAX_CONFIG_DEPTH} levels deep; take some of them apart."
        raise UnusableInput(message)
    objects = shown_objects(root)
    regions = read_region_controls(root, objects)
    done = {control.name for control in regions} | {detail.name for control in regions for detail in control.details}
    controls: list[Control] = []
    left_out: list[LeftOut] = []
    for element, conditional in walk(root):
        name, to_name = element.get("name"), element.get("toName")
        if name is None or to_name is None or name in done or element.tag in HELPERS:
            continue
        try:
            controls.append(_read_control(element, name, to_name, conditional))
        except Unsupported as reason:
            left_out.append(LeftOut(name, element.tag, str(reason)))
    fields = {name: shown.field for name, shown in objects.items() if shown.field}
    regions, usable, ambiguous = with_unique_names(regions, controls)
    left_out += [LeftOut(name, tag_of(root, name), reason) for name, reason in ambiguous]
    return Config(usable, tuple(left_out), fields, regions)


def _read_control(element: Element, name: str, to_name: str, conditional: bool) -> Control:
    if is_true(element, "perRegion"):
        raise Unsupported("it describes regions, and only a single choice about aggregated regions can be used")
    if is_true(element, "perItem"):
        raise Unsupported("it is about items of a list, not about the task")
    if "{{" in name:
        raise Unsupported("it is repeated for items of a list")
    if element.tag.endswith("Labels") or element.tag in OTHER_SHAPES:
        raise Unsupported("regions of this kind are not aggregated")
    if element.tag not in CONTROLS:
        raise Unsupported("it is not categorical")
    spec = ControlSpec(
        name=name,
        to_name=to_name.split(",")[0].strip(),
        type=element.tag.lower(),
        empty_is_answer=not conditional and not is_true(element, "required"),
    )
    return CONTROLS[element.tag](element, spec)


def _check_form(result: Sequence[Item], control: str) -> None:
    """Raise Unreadable unless every item that is, or may be, about a control has the form of one."""
    for item in result:
        if not isinstance(item, dict):
            raise Unreadable("an entry that is no object")
        if item.get("from_name") == control and not isinstance(item.get("value"), dict):
            raise Unreadable("an entry without a value")


def _items_by_control(result: Sequence[Item]) -> dict[str, list[Item]]:
    """Return the items by control; those without a name or a value are ignored."""
    items: dict[str, list[Item]] = defaultdict(list)
    for item in result:
        if isinstance(item, dict) and isinstance(item.get("value"), dict) and isinstance(item.get("from_name"), str):
            items[item["from_name"]].append(item)
    return items
