"""Charts: valid SVG with what the data say, and nothing that a page's content policy forbids."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from ls_crowd_plugin.chart_records import CalibrationPoint, Histogram, TimeSeries
from ls_crowd_plugin.records import TrendPoint
from ls_crowd_plugin.web import charts
from tests.support.result_records import person

BOX = {"x": 10.0, "y": 20.0, "width": 30.0, "height": 40.0, "rotation": 15.0}
CHARTS = {
    "histogram": charts.histogram(Histogram(0.0, 1.0, [0, 3, 1]), "A histogram.", "confidence", as_percent=True),
    "empty histogram": charts.histogram(Histogram(0.0, 1.0, [0, 0]), "A histogram.", "confidence"),
    "over time": charts.over_time(TimeSeries("2026-03-01T09:00:00+00:00", 3600, [2, 0, 5]), "Over time."),
    "calibration": charts.calibration([CalibrationPoint(0.8, 0.7, 20)], "Calibration."),
    "trend": charts.trend([TrendPoint("2026-03-01T09:00:00Z", 0.5, 4)], "A trend."),
    "skills": charts.skills([person(1), person(2, verdict="contrary")], "Skills."),
    "boxes": charts.boxes([("Car", BOX)], 200, 100, "One box."),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_an_image_with_a_description(name: str) -> None:
    svg = ElementTree.fromstring(CHARTS[name])
    assert svg.get("role") == "img"
    assert svg.get("aria-label")
    assert not any("style" in element.attrib for element in svg.iter())


def test_bars_are_as_high_as_their_counts() -> None:
    heights = [float(height) for height in re.findall(r'<rect class="bar".*? height="([\d.]+)"', CHARTS["histogram"])]
    assert heights[0] == pytest.approx(3 * heights[1], abs=0.2)
    assert "33% to 67%: 3" in CHARTS["histogram"]


def test_the_highest_bar_is_named() -> None:
    assert ">3</text>" in CHARTS["histogram"]


def test_periods_are_named_by_their_beginning() -> None:
    assert "01 Mar 11:00: 5" in CHARTS["over time"]


def test_people_without_a_skill_are_not_plotted() -> None:
    assert charts.skills([person(1, skill=None)], "Skills.") == Markup("")
    assert CHARTS["skills"].count("<circle") == 2


def test_people_of_equal_skill_are_plotted() -> None:
    assert charts.skills([person(1, skill=1.0, skill_se=0.0)], "Skills.").count("<circle") == 1


def test_boxes_are_drawn_in_place_and_rotated() -> None:
    assert '<g transform="rotate(15.0 48.0 48.0)"><rect class="box" x="48.0" y="48.0"' in CHARTS["boxes"]


def test_labels_and_names_are_escaped() -> None:
    assert "&lt;b&gt;" in charts.boxes([("<b>", BOX)], 200, 100, "One box.")
    assert "&lt;b&gt;" in charts.skills([person(1, name="<b>")], "Skills.")
    assert "&lt;b&gt;" in charts.histogram(Histogram(0.0, 1.0, [1]), "<b>", "confidence")
