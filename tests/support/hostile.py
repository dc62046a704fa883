"""Results that somebody may post: of the right form with absurd values, of nearly the right form, and anything else."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ls_crowd_plugin.controls import read_config
from tests.support.label_configs import MOOD, ONE_PATH, OPEN_TREE, PAIR, RATING, TEXT, TOPICS
from tests.support.region_configs import LABELS, SURE

EVERYTHING_TEXT = (
    f"<View>{TEXT}{MOOD.format('')}{TOPICS}{RATING.format('')}{PAIR.format('')}{OPEN_TREE}"
    f"{ONE_PATH.format('').replace('kind', 'one')}"
    '<Choices name="nested" toName="text" allowNested="true"><Choice value="a"><Choice value="a1"/></Choice></Choices>'
    f'<Labels name="entity" toName="text">{LABELS}</Labels>{SURE.format("text", "")}'
    f'<HyperText name="html" value="$h"/><HyperTextLabels name="link" toName="html">{LABELS}</HyperTextLabels>'
    f'<Paragraphs name="talk" value="$p"/><ParagraphLabels name="turn" toName="talk">{LABELS}</ParagraphLabels>'
    f'<Image name="image" value="$i"/><RectangleLabels name="thing" toName="image">{LABELS}</RectangleLabels></View>'
)
EVERYTHING = read_config(EVERYTHING_TEXT)  # every kind of control

_names = st.sampled_from(
    ["mood", "topics", "stars", "better", "kind", "one", "nested", "entity", "sure", "link", "turn", "thing", "gone"]
)
_numbers = st.sampled_from(
    [
        0,
        1,
        5,
        20,
        50.5,
        -1,
        10**9,
        10**18,
        10**400,
        -(10**400),
        1e308,
        float("inf"),
        float("nan"),
        2**63,
        "7",
        "9" * 500,
    ]
)
_words = st.sampled_from(
    ["good", "bad", "PER", "ORG", "yes", "left", "a", "a1", "plant", "\0", "\ud800", "", "x" * 2000]
)
_anything = st.recursive(
    st.none() | st.booleans() | _numbers | _words | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_label_lists = st.lists(_words, max_size=3) | _anything
_path_lists = st.lists(st.lists(_words, max_size=3), max_size=3) | _anything
_values = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["choices", "labels", "hypertextlabels", "paragraphlabels", "rectanglelabels"], _label_lists),
        "taxonomy": _path_lists,
        "rating": _numbers | _anything,
        "selected": _words | _anything,
        **dict.fromkeys(["x", "y", "width", "height", "rotation"], _numbers | _anything),
        **dict.fromkeys(["start", "end", "startOffset", "endOffset"], _numbers | _anything),
        "globalOffsets": st.fixed_dictionaries({"start": _numbers, "end": _numbers}) | _anything,
        "text": _anything,
    },
)
_items = st.fixed_dictionaries(
    {"from_name": _names | _anything, "value": _values | _anything},
    optional={
        "id": _words | _anything,
        "to_name": _words,
        "type": _words | _anything,
        **dict.fromkeys(["original_width", "original_height", "image_rotation", "item_index"], _numbers | _anything),
        "meta": _anything,
    },
)
hostile_results: st.SearchStrategy[list[Any]] = st.lists(_items | _anything, max_size=6)
