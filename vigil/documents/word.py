"""Enumerations whose members are words: each equals its own text, in documents, tables and messages."""

from __future__ import annotations

import enum


class Word(str, enum.Enum):
    """A word of a closed list."""

    # A mixed-in enumeration prints its member's name, and from Python 3.12 on formats it so.
    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return str.__repr__(self)

    def __format__(self, format_spec: str) -> str:
        return str.__format__(self, format_spec)
