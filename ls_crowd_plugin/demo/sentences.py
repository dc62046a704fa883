"""Short sentences on four topics, combined from patterns, so that a simulated task reads like a real one."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_PATTERNS = {
    "sport": (
        "the striker, our goalkeeper, the home side, the champion, a young sprinter, the relay team, the captain",
        "won the final in extra time, trained through the rain, missed the last penalty, broke the national record, "
        "is out with a knee injury, signed for two more seasons, lost in straight sets",
    ),
    "food": (
        "the soup, this bread, the chef's pie, the sourdough, the salad, the canteen's curry, grandmother's stew",
        "could do with more salt, smells of fresh basil, is best on the second day, was gone before noon, "
        "was praised by every guest, goes well with dark bread, takes four hours to get right",
    ),
    "travel": (
        "the night train, our ferry, the cable car, the mountain bus, the airport shuttle, the river boat, the tram",
        "was two hours late, is closed until spring, stops at every village, was fully booked by May, "
        "has a fine view of the lake, takes tickets on the phone now, got us there by sunrise",
    ),
    "money": (
        "the bank's offer, the rent, my pension, the tax bill, the interest rate, the insurance, our budget",
        "went up again this year, has to be settled by Friday, will be reviewed in autumn, fell by half a percent, "
        "was disputed in court, is fixed until December, left nothing for repairs",
    ),
}

TOPICS = list(_PATTERNS)


def sentences(generator: np.random.Generator, topics: Sequence[int]) -> list[str]:
    """Return a different sentence for each of these positions in TOPICS; raise ValueError if there are too few."""
    unused = []
    for subjects, predicates in _PATTERNS.values():
        pairs = product(subjects.split(", "), predicates.split(", "))
        texts = [f"{subject[0].upper()}{subject[1:]} {predicate}." for subject, predicate in pairs]
        unused.append([texts[choice] for choice in generator.permutation(len(texts))])
    available = min(len(texts) for texts in unused)
    if any(topics.count(position) > available for position in range(len(unused))):
        raise ValueError(f"There are only {available} sentences for a topic; ask for fewer tasks.")
    return [unused[position].pop() for position in topics]
