"""How many examples a property is tried on: fewer for `make quick`."""

from __future__ import annotations

import os

QUICK = os.environ.get("HYPOTHESIS_PROFILE") == "quick"
MAX_QUICK_EXAMPLES = 8


def examples(number: int) -> int:
    return min(number, MAX_QUICK_EXAMPLES) if QUICK else number
