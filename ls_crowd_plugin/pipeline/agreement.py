"""How far annotators agree: Krippendorff's alpha of each question, and the agreement of pairs of annotators. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse

from ..chart_records import Agreement
from ..records import rounded
from .label_records import FittedLabel, drawn_votes

MAX_PEOPLE = 30  # in the matrix, those with most answers


def agreement(labels: Sequence[FittedLabel]) -> Agreement:
    """Of regions, the labels that those who drew them gave: that two people did not draw what a third drew says nothing
    about the two."""
    votes = [drawn_votes(label) for label in labels]
    by_question: dict[str, list[list[str]]] = defaultdict(list)
    for label, cast in zip(labels, votes, strict=True):
        by_question[label.record.question].append([vote.label for vote in cast])
    answers = Counter(vote.annotator for cast in votes for vote in cast)
    people = sorted(annotator for annotator, _ in answers.most_common(MAX_PEOPLE))
    position = {annotator: number for number, annotator in enumerate(people)}
    who, items, options = [], [], []
    option_of: dict[tuple[int, str], int] = {}
    for item, cast in enumerate(votes):
        for vote in cast:
            if vote.annotator in position:
                who.append(position[vote.annotator])
                items.append(item)
                options.append(option_of.setdefault((item, vote.label), len(option_of)))
    return Agreement(
        alpha={question: rounded(krippendorff_alpha(items)) for question, items in sorted(by_question.items())},
        annotators=people,
        common=_products(who, items, len(people)),
        alike=_products(who, options, len(people)),
    )


def _products(rows: Sequence[int], columns: Sequence[int], people: int) -> list[list[int]]:
    """[J, J] M Mᵀ of the indicator matrix M with ones at (row, column)."""
    if not columns:
        return [[0] * people for _ in range(people)]
    ones = scipy.sparse.csr_matrix((np.ones(len(rows), int), (rows, columns)), (people, max(columns) + 1))
    products: list[list[int]] = (ones @ ones.T).toarray().tolist()
    return products


def krippendorff_alpha(items: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for nominal labels; None where nobody could have disagreed.

    With n_uc answers c on item u, m_u of them in all and n_c over all items with m_u ≥ 2, n in all:
    α = 1 − (n − 1) Σ_u (m_u² − Σ_c n_uc²) / (m_u − 1) / (n² − Σ_c n_c²).
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for answers in items:
        if len(answers) > 1:
            counts = Counter(answers)
            totals.update(counts)
            observed += (len(answers) ** 2 - sum(n * n for n in counts.values())) / (len(answers) - 1)
    n = sum(totals.values())
    expected = n * n - sum(count * count for count in totals.values())
    return None if expected == 0 else 1 - (n - 1) * observed / expected
