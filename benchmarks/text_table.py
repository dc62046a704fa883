"""Plain tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = str | int | float | None


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], digits: int = 1) -> None:
    """Print rows under their header: the first column to the left, the others to the right, None as a dash."""
    texts = [[_text(cell, digits) for cell in row] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(header, *texts, strict=True)]
    print(f"\n{title}\n")
    for row in [list(header), ["-" * width for width in widths], *texts]:
        first, *rest = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]).rstrip())
    print(flush=True)


def _text(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)
