"""The last complete pass over a project."""

from __future__ import annotations

from ls_crowd_plugin.records import LeftOut, ProjectSummary
from ls_crowd_plugin.store import Store
from ls_crowd_plugin.store.passes import LastPass, get_last_pass, save_last_pass
from tests.support.transactions import run

SUMMARY = ProjectSummary(
    tasks=3, method="gem", verdicts={"trusted": 2}, left_out=[LeftOut("note", "TextArea", "it is not categorical")]
)


def test_is_none_at_first(store: Store) -> None:
    assert run(store.data, get_last_pass, 7) is None


def test_is_read_as_it_was_saved(store: Store) -> None:
    for fingerprint in ("first", "second"):
        last = LastPass(fingerprint, "crowd-1", SUMMARY, 1_800_000_000.25)
        run(store.data, save_last_pass, 7, last)
        assert run(store.data, get_last_pass, 7) == last
    assert run(store.data, get_last_pass, 8) is None
