"""Whatever people draw, grouping takes seconds and some hundred megabytes; and where nobody exaggerates, bounds change
nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ls_crowd_plugin.regions import Box, DrawnRegion, Kind, Span, assign, boxes, crowded, group, spans, too_entangled
from ls_crowd_plugin.regions.clustering import MAX_CELLS, best_assignment

Drawing = list[Span] | list[Box]

# A quiet machine needs at most a third of these seconds.
SECONDS, MEGABYTES = 5.0, 500


def drawn(drawings: Sequence[Sequence[Any]]) -> list[DrawnRegion[Any]]:
    return [DrawnRegion(who, "A", extent) for who, extents in enumerate(drawings) for extent in extents]


def nested_spans(count: int) -> list[Span]:
    return [Span(place, 20_000 - place) for place in range(count)]


def equal_spans(count: int) -> list[Span]:
    return [Span(5, 25)] * count


def chained_spans(count: int) -> list[Span]:
    return [Span(place, place + 20) for place in range(count)]


def upright_boxes(count: int) -> list[Box]:
    shifts = np.random.default_rng(count).uniform(0, 5, (count, 2)).tolist()
    return [Box(x, y, 50, 50) for x, y in shifts]


def rotated_boxes(count: int) -> list[Box]:
    numbers = np.random.default_rng(count).uniform(0, [5, 5, 90], (count, 3)).tolist()
    return [Box(x, y, 50, 50, angle) for x, y, angle in numbers]


def bars(count: int) -> list[Box]:
    """Half of them meet along one axis only, the other half along the other."""
    flat = [Box(0, place / 100, 100, 0.005) for place in range(count // 2)]
    return flat + [Box(200 + place / 100, 0, 0.005, 100) for place in range(count // 2)]


EXAGGERATED: dict[str, Callable[[int], Drawing]] = {
    "nested spans": nested_spans,
    "equal spans": equal_spans,
    "chained spans": chained_spans,
    "upright boxes": upright_boxes,
    "rotated boxes": rotated_boxes,
    "bars": bars,
}


def normal_drawing(like: Drawing) -> Drawing:
    """Twenty regions as somebody else may draw them on the same text or image."""
    if isinstance(like[0], Span):
        return [Span(1000 * place, 1000 * place + 600) for place in range(20)]
    return [Box(12 * (place % 5), 12 * (place // 5), 10, 10, 5) for place in range(20)]


def scene(name: str, sizes: Sequence[int], normal: int) -> list[Drawing]:
    drawings = [EXAGGERATED[name](size) for size in sizes]
    return drawings + [normal_drawing(drawings[0]) for _ in range(normal)]


def group_affordable(drawings: Sequence[Drawing]) -> tuple[list[int], int]:
    """Group what can be compared; return which drawings are left out, and the number of groups."""
    kind: Kind[Any] = spans if isinstance(drawings[0][0], Span) else boxes
    left_out = too_entangled(drawings, kind)
    regions = drawn([drawing for place, drawing in enumerate(drawings) if place not in left_out])
    return left_out, len(group(regions, kind))


def main() -> None:
    """Print what grouping a scene gives, how long it takes, and how much memory it needs in this process."""
    name, sizes, normal = sys.argv[1], [int(size) for size in sys.argv[2].split(",")], int(sys.argv[3])
    drawings = scene(name, sizes, normal)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    left_out, groups = group_affordable(drawings)
    seconds = time.process_time() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(len(left_out), groups, seconds, grown / 1024)


def measure(name: str, sizes: Sequence[int], normal: int) -> tuple[int, int]:
    """Group a scene in a process of its own; return how many drawings are left out, and how many groups there are."""
    command = [sys.executable, "-m", __name__, name, ",".join(map(str, sizes)), str(normal)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert float(printed[2]) < SECONDS
    assert float(printed[3]) < MEGABYTES
    return int(printed[0]), int(printed[1])


@pytest.mark.parametrize("name", EXAGGERATED)
@pytest.mark.slow
def test_one_person_with_thousands_of_regions_is_grouped_with_the_others(name: str) -> None:
    left_out, groups = measure(name, [4000], 5)
    assert left_out == 0
    assert groups >= 4000


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAGGERATED)
@pytest.mark.parametrize("sizes", [[4000, 4000, 4000], [1400, 1400], [310, 310], [90] * 5, [60] * 30])
def test_several_people_with_many_regions_take_no_longer(name: str, sizes: list[int]) -> None:
    left_out, groups = measure(name, sizes, 3)
    assert left_out < len(sizes)
    assert groups >= max(sizes)


def test_drawings_with_the_fewest_regions_are_kept() -> None:
    assert too_entangled([nested_spans(1600), nested_spans(1500), nested_spans(10)], spans) == [0]


def test_of_equal_drawings_the_first_are_kept() -> None:
    assert too_entangled([equal_spans(1500), equal_spans(1500), equal_spans(1500)], spans) == [1, 2]


def test_drawings_that_do_not_meet_are_all_kept() -> None:
    apart = [[Span(10 * place, 10 * place + 5, str(who)) for place in range(4000)] for who in range(3)]
    assert too_entangled(apart, spans) == []


def test_drawings_that_meet_along_one_axis_too_often_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowded, "MAX_COMPARED_PAIRS", 700_000)
    assert too_entangled([bars(1000), bars(1000), bars(1000)], boxes) == [2]


def test_a_crowded_component_gives_each_person_one_region_of_a_group() -> None:
    """Five people draw the same two spans; somebody else draws each of them a hundred times."""
    people = [[Span(0, 20), Span(4, 24)]] * 5
    regions = drawn([*people, [Span(0, 20), Span(4, 24)] * 100])
    groups = [[regions[place] for place in members] for members in group(regions, spans)]
    assert sorted(len(members) for members in groups) == [1] * 198 + [6, 6]
    for members in groups:
        assert len({member.extent for member in members}) == 1
        assert len({member.annotator for member in members}) == len(members)


any_spans = st.builds(lambda start, length: Span(start, start + length), st.integers(0, 9), st.integers(0, 12))
any_regions = st.lists(st.builds(DrawnRegion[Span], st.integers(0, 3), st.sampled_from("AB"), any_spans), max_size=14)


@pytest.fixture
def always_crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowded, "MAX_OWN_REGIONS", 0)
    monkeypatch.setattr(crowded, "MAX_CROWDED_WORK", 0)


@pytest.mark.usefixtures("always_crowded")
class TestCrowdedComponents:
    @given(regions=any_regions, order=st.randoms())
    def test_do_not_depend_on_the_order_of_regions(self, regions: list[DrawnRegion[Span]], order: Any) -> None:
        expected = [[regions[place] for place in members] for members in group(regions, spans)]
        order.shuffle(regions)
        assert [[regions[place] for place in members] for members in group(regions, spans)] == expected

    @given(regions=any_regions)
    def test_have_every_region_once_and_nobody_twice_in_a_group(self, regions: list[DrawnRegion[Span]]) -> None:
        groups = group(regions, spans)
        assert sorted(place for members in groups for place in members) == list(range(len(regions)))
        for members in groups:
            assert len({regions[place].annotator for place in members}) == len(members)

    def test_that_are_simple_are_grouped_as_always(self) -> None:
        regions = drawn([[Span(0, 10), Span(1, 9)], [Span(0, 10), Span(1, 9)], [Span(0, 10)]])
        assert group(regions, spans) == [[0, 2, 4], [1, 3]]


def test_a_huge_assignment_takes_the_highest_scores_first() -> None:
    side = int(MAX_CELLS**0.5) + 1
    scores = {(place, place): 1.0 for place in range(side)} | {(0, 1): 1.2, (1, 0): 1.1}
    assigned = best_assignment(scores)
    assert (assigned[0], assigned[1], len(assigned)) == (1, 0, side)


@pytest.mark.slow
def test_thousands_of_gold_regions_find_their_groups() -> None:
    regions = drawn([chained_spans(2000), chained_spans(2000)])
    groups = group(regions, spans)
    gold = [DrawnRegion(-1, "A", extent) for extent in chained_spans(2000)]
    assert assign(regions, groups, gold, spans) == list(range(2000))


if __name__ == "__main__":
    main()
