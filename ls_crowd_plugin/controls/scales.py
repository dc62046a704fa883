"""Makes controls ordered that somebody says are scales: that labels look like numbers proves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..records import MIN_ORDERED
from .choices import Choices
from .config import Config
from .control import Control
from .rating import Rating
from .region_control import RegionDetail


def with_scales(config: Config, names: Iterable[str]) -> tuple[Config, list[str]]:
    """Return the config in which the controls with these names are ordered, and a warning for each that cannot be."""
    details = {detail.name: detail for control in config.regions for detail in control.details}
    controls = {control.name: control for control in config.controls}
    others = {control.name for control in config.regions} | {control.name for control in config.left_out}
    scales: set[str] = set()
    warnings = []
    for name in sorted(set(names)):
        control = controls.get(name) or details.get(name)
        if control is None and name not in others:
            warnings.append(f"LS_CROWD_ORDERED names {name!r}, which is no control of this project's label config.")
        elif problem := _problem(control):
            warnings.append(f"{name!r} in LS_CROWD_ORDERED cannot be ordered: {problem}.")
        else:
            scales.add(name)
    return _ordered(config, scales), warnings


def _problem(control: Control | RegionDetail | None) -> str:
    """Why a control cannot be ordered; empty if it can."""
    is_single = isinstance(control, Choices) and not control.multiple
    is_detail = isinstance(control, RegionDetail) and control.key == "choices"
    if not (is_single or is_detail or isinstance(control, Rating)):
        return "only Choices of which one is chosen, without allowNested, have an order"
    labels = control.labels if isinstance(control, Choices | Rating | RegionDetail) else ()
    return "" if len(labels) >= MIN_ORDERED else f"with fewer than {MIN_ORDERED} labels an order makes no difference"


def _ordered(config: Config, scales: set[str]) -> Config:
    controls = (
        replace(control, spec=replace(control.spec, ordered=True))
        if isinstance(control, Choices) and control.name in scales
        else control
        for control in config.controls
    )
    regions = (
        replace(
            control,
            details=tuple(
                replace(detail, spec=replace(detail.spec, ordered=True)) if detail.name in scales else detail
                for detail in control.details
            ),
        )
        for control in config.regions
    )
    return replace(config, controls=tuple(controls), regions=tuple(regions))
