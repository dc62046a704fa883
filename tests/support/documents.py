"""The documents, and the commands that they show."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}


def commands() -> list[str]:
    """Every command in a block of a document, without what is said about it."""
    blocks = [block for text in DOCUMENTS.values() for block in re.findall(r"```\n(.*?)```", text, re.DOTALL)]
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]
