"""Tolerances for comparisons of random draws with their probabilities."""

from __future__ import annotations

import numpy as np

# Five standard errors: a correct simulator fails one such comparison in two million.
SIGMAS = 5.0


def share_tolerance(probability: float, count: int) -> float:
    """Return how far a share of `count` independent draws may lie from its probability."""
    return SIGMAS * float(np.sqrt(probability * (1 - probability) / count))
