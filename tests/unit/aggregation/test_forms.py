"""The registry of methods and forms."""

from __future__ import annotations

import pytest

from ls_crowd_plugin.aggregation import FORMS, METHODS
from ls_crowd_plugin.aggregation.forms import OTHER_METHODS, PRINTED, Form, common_table, forms_of
from tests.support.crowds import Row, aggregate_rows, encode_rows, ignore_progress, mixed_crowd

ROWS: list[Row] = [(task, annotator, task % 2) for task in range(6) for annotator in "abc"]


def test_every_method_is_registered() -> None:
    assert {"auto", "gem", *OTHER_METHODS} == set(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_fit_is_named_as_its_form_is_registered(form: str) -> None:
    assert FORMS[form](encode_rows(ROWS), ignore_progress).form == form


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_requested_form_is_used_and_described(form: str) -> None:
    facts = aggregate_rows(ROWS, method="gem", form=form).facts
    assert facts["form"] == form
    assert facts["why"] == f"{form} ({FORMS[form].description}) was requested."


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_a_requested_method_is_used_and_described(method: str) -> None:
    facts = aggregate_rows(ROWS, method=method).facts
    assert (facts["method"], facts["form"]) == (method, method)
    assert facts["why"] == f"{method} ({OTHER_METHODS[method].description}) was requested."


@pytest.mark.parametrize("method", PRINTED)
def test_weighted_methods_have_a_printed_form(method: str) -> None:
    facts = aggregate_rows(ROWS, method=method, form="printed").facts
    assert (facts["method"], facts["form"]) == (method, "printed")
    assert facts["why"] == f"{method} (as printed in the paper) was requested."


def test_forms_can_be_requested_by_name_only_of_methods_that_have_several() -> None:
    assert {method: list(forms_of(method)) for method in METHODS} == {
        "auto": [],
        "gem": list(FORMS),
        "neg": ["printed"],
        "sw": ["printed"],
        "hyb": ["printed"],
        "plu": [],
    }


def test_forms_with_a_family_accept_a_floor() -> None:
    answers = encode_rows(ROWS)
    for form in FORMS.values():
        if form.family:
            assert len(form(answers, ignore_progress, floor=1e9).convergence.history) == 6  # the least there can be


def test_a_common_table_has_all_options_if_any_form_needs_them() -> None:
    answers = mixed_crowd(0)
    some, all_labels = Form("", FORMS["skill-0"].fit), FORMS["habits-1"]
    assert common_table(answers, [some]) is answers
    assert common_table(answers, [some, all_labels]).unchosen_count.max() == 0
