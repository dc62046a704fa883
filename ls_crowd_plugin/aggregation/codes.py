"""Integer codes for columns of any hashable values, and a clear refusal of values that cannot be used."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ..errors import UnusableInput
from .arrays import pieces
from .types import Column, Id, Integers, Positions

MAX_INTEGER = 2**62  # larger ones are coded like any other value


def encode_values(column: Column, extra: Sequence[Hashable], name: str) -> tuple[list[Id], Integers]:
    """Number the distinct values of a column and of the `extra` values that follow it.

    Returns the distinct values as plain Python values, in an order that depends on them alone, and the code of every
    value: [len(column) + len(extra)]. `name` says what the values are, for error messages.
    """
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise UnusableInput(f"The {name} column has {column.ndim} dimensions; give one value per answer.")
        integers = _as_integers(column, extra)
        if integers is not None:
            return _encode_integers(integers)
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    values.extend(extra)
    code_of, first_seen = _number(values, len(column), name)
    _refuse_empty_values(code_of, first_seen, len(column), name)
    distinct = [value.item() if isinstance(value, np.generic) else value for value in code_of]
    order = _canonical_order(distinct)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return [distinct[position] for position in order], rank[first_seen]


def _as_integers(column: Column, extra: Sequence[Hashable]) -> list[Integers | Positions] | None:
    """The column and the extra values as arrays, if all are integers of moderate size."""
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu" or not len(column):
        return None
    plain = [value.item() if isinstance(value, np.generic) else value for value in extra]
    if not all(type(value) is int and abs(value) < MAX_INTEGER for value in plain) or int(column.max()) >= MAX_INTEGER:
        return None
    return [column, np.array(plain, np.int64)] if plain else [column]


def _encode_integers(parts: list[Integers | Positions]) -> tuple[list[Id], Integers]:
    """Encode all integers of some arrays by a table look-up if their range is small, else by a sort."""
    low, high = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
    count = sum(map(len, parts))
    if high - low >= 4 * count + 1000:
        distinct, inverse = np.unique(np.concatenate([part.astype(np.int64) for part in parts]), return_inverse=True)
        return distinct.tolist(), inverse.astype(np.int32)
    present = np.zeros(high - low + 1, bool)
    for part in parts:
        for piece in pieces(len(part)):
            present[part[piece].astype(np.int64) - low] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    codes, position = np.empty(count, np.int32), 0
    for part in parts:
        for piece in pieces(len(part)):
            place = part[piece].astype(np.int64) - low
            codes[position : position + len(place)] = rank[place]
            position += len(place)
    return (np.flatnonzero(present) + low).tolist(), codes


def _number(values: list[Id], answers: int, name: str) -> tuple[dict[Id, int], Integers]:
    """Number distinct values in the order in which they occur; returns value → number, and the number of each value."""
    number_of: dict[Id, int] = {}
    try:
        numbers = np.fromiter((number_of.setdefault(value, len(number_of)) for value in values), np.int32, len(values))
    except TypeError:
        position = next(position for position, value in enumerate(values) if not _is_hashable(value))
        place = f"The {name} of answer {position + 1}" if position < answers else f"A {name} in the gold or label set"
        kind = type(values[position]).__name__
        raise UnusableInput(f"{place} is a {kind}; use text or a number.") from None
    return number_of, numbers


def _is_hashable(value: object) -> bool:
    """Whether `hash` accepts the value; a tuple may contain something that it does not accept."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _refuse_empty_values(code_of: dict[Id, int], codes: Integers, answers: int, name: str) -> None:
    for value, code in code_of.items():
        if value is None or value == "" or value != value:
            row = int(np.flatnonzero(codes == code)[0])
            if row >= answers:
                raise UnusableInput(f"The gold or label set contains an empty {name}; remove it or fill it in.")
            raise UnusableInput(f"Answer {row + 1} has no {name}; remove the answer or fill it in.")


def _canonical_order(values: list[Id]) -> list[int]:
    """The positions of `values` in an order that depends on the values alone, even if they cannot be compared."""
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:
        return sorted(
            range(len(values)), key=lambda position: (type(values[position]).__name__, repr(values[position]))
        )
