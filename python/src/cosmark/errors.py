"""What can go wrong while an archive is read: one class, whose text says where and what to do."""

from __future__ import annotations


class CosmarkError(Exception):
    """An archive is missing or damaged, a name fits nothing or too much, or a package is not installed."""
