"""Filters of templates, and pages of long lists."""

from __future__ import annotations

import pytest
from flask import Flask

from ls_crowd_plugin.records import VERDICTS
from ls_crowd_plugin.web.paging import PAGE_SIZE, Paging, one_of, page_number, page_offset
from ls_crowd_plugin.web.template_tools import decimal, number, verdict_badge, verdict_class


def test_numbers_have_separators_or_a_dash() -> None:
    assert (number(1234567), number(0), number(None)) == ("1,234,567", "0", "–")
    assert (decimal(1.234), decimal(-0.5), decimal(None)) == ("1.23", "-0.50", "–")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_a_badge_with_its_sentence(verdict: str) -> None:
    badge = str(verdict_badge(verdict))
    assert VERDICTS[verdict].sentence in badge
    assert f'class="verdict {verdict_class(verdict)}"' in badge
    assert " " not in verdict_class(verdict)


@pytest.mark.parametrize(
    ("asked", "page"),
    [("", 1), ("1", 1), ("7", 7), ("0", 1), ("-3", 1), ("x", 1), ("1.5", 1), ("²", 1), ("٣", 1), ("9" * 30, 1)],
)
def test_a_page_that_makes_no_sense_is_the_first(asked: str, page: int) -> None:
    with Flask(__name__).test_request_context(f"/?page={asked}"):
        assert page_number() == page
        assert page_offset() == PAGE_SIZE * (page - 1)


def test_a_parameter_is_one_of_the_choices_or_the_default() -> None:
    with Flask(__name__).test_request_context("/?order=name&show=nonsense"):
        assert one_of("order", ["name", "age"], "age") == "name"
        assert one_of("show", ["all", "gold"], "all") == "all"
        assert one_of("missing", ["all", "gold"], "gold") == "gold"


@pytest.mark.parametrize(("total", "pages"), [(0, 0), (1, 1), (PAGE_SIZE, 1), (PAGE_SIZE + 1, 2)])
def test_the_last_page_may_be_short(total: int, pages: int) -> None:
    assert Paging(1, total, str).pages == pages
