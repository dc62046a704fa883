"""The page about answers: what they buy, and the policy that is set there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from ls_crowd_plugin.policy import Asking, Forecast, Policy
from ls_crowd_plugin.store import Store, queue
from ls_crowd_plugin.store.policies import get_policy
from ls_crowd_plugin.web.context import AppContext
from ls_crowd_plugin.web.views import answers_view
from tests.support.known_crowd import PROJECT
from tests.support.pages import HtmlChecker, csrf_token_in, read_page

PATH = f"/project/{PROJECT}/answers"
FORM = {"mode": "on", "min_answers": "3", "max_answers": "9", "confidence": "90", "budget": ""}
FORECAST = Forecast(500, 20, 55, 40, 70, 3, 6.4, 5, 445, 7.5)
ASKING = Asking(Policy(), 12, {"settled": 180, "not settled": 20}, FORECAST, [])


def save(pages: FlaskClient, **changes: str) -> tuple[int, str]:
    token = csrf_token_in(read_page(pages, PATH))
    answer = pages.post(f"/project/{PROJECT}/policy", data={**FORM, **changes, "token": token})
    return answer.status_code, answer.get_data(as_text=True)


def stored(store: Store) -> Policy | None:
    with store.data.connect() as connection:
        return get_policy(connection, PROJECT)


def test_says_what_answers_buy(pages: FlaskClient) -> None:
    text = HtmlChecker(read_page(pages, PATH)).text_outside_details
    for words in ("Answers so far", "Answers still needed", "If nobody answered any more", "Against 9 answers"):
        assert words in text
    assert "12 gold tasks have been answered" in text  # too few to close tasks


def test_saves_a_policy_and_a_pass_is_requested(pages: FlaskClient, app_context: AppContext) -> None:
    assert save(pages)[0] == 302
    assert stored(app_context.store) == Policy(3, 9, 0.9, None, True)
    with app_context.store.work.connect() as connection:
        entry = queue.get_entry(connection, PROJECT)
    assert entry is not None
    assert entry.waiting is not None
    assert save(pages, mode="advise", budget="1000")[0] == 302
    assert stored(app_context.store) == Policy(3, 9, 0.9, 1000, False)
    assert 'value="1000"' in read_page(pages, PATH)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"min_answers": "9", "max_answers": "3"}, "at least 9 and at most 3"),
        ({"confidence": "30"}, "not between 0.5 and 0.999"),
        ({"budget": "-1"}, "from 1 to 1,000,000,000"),
        ({"max_answers": "101"}, "at most 100 answers"),
        ({"min_answers": "two"}, "must be numbers"),
    ],
)
def test_refuses_what_cannot_be(
    changes: dict[str, str], words: str, pages: FlaskClient, app_context: AppContext
) -> None:
    status, page = save(pages, **changes)
    assert (status, words in page) == (400, True)
    assert stored(app_context.store) is None


def test_refuses_a_form_without_its_token(pages: FlaskClient, app_context: AppContext) -> None:
    assert pages.post(f"/project/{PROJECT}/policy", data=FORM).status_code == 400
    assert stored(app_context.store) is None


@pytest.mark.parametrize(
    ("saved", "seconds", "price", "words"),
    [
        (445, 7.5, 0.0, "445 fewer answers, 56 minutes"),
        (4450, 7.5, 0.0, "4,450 fewer answers, 9.3 hours"),
        (445, None, 0.1, "445 fewer answers, 44.50 in money"),
        (-1, None, 0.0, "1 more answer"),
        (0, 7.5, 0.1, "as many answers"),
    ],
)
def test_says_what_is_saved(saved: int, seconds: float | None, price: float, words: str) -> None:
    asking = replace(ASKING, forecast=replace(FORECAST, saved=saved, seconds=seconds))
    assert answers_view(asking, price).saved == words
