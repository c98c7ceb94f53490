"""What can go wrong while an archive is read: one class, whose text says where and what to do."""

from __future__ import annotations

from .texts import plain


class CosmarkError(Exception):
    """An archive is missing or damaged, a name fits nothing or too much, or a package is not installed."""

    def __init__(self, said: str) -> None:
        # Names of archives stand in it.
        super().__init__(plain(said))
