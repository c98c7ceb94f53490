"""Texts of archives, which anybody may have written, where a terminal or a spreadsheet would take them for orders."""

from __future__ import annotations

import re
from typing import Any

#: What would command a terminal: control signs but line feeds and tabs, and turns of the direction of writing.
_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(text: str) -> str:
    """A text without what commands a terminal or turns the direction of what follows."""
    return _HOSTILE.sub("?", text)


def _is_formula(cell: str) -> bool:
    return cell.lstrip("'").startswith(_FORMULA)


def harmless(cell: Any) -> Any:
    """A cell of CSV that no spreadsheet runs: what begins as a formula gets an apostrophe, as in Cosmark's own tables."""
    if not isinstance(cell, str) or not _is_formula(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def as_it_was(cell: Any) -> Any:
    """What :func:`harmless` made this of."""
    is_made = isinstance(cell, str) and cell.startswith("'") and _is_formula(cell)
    return cell[1:] if is_made else cell
