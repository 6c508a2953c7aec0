"""Documents of one line: closed, typed JSON objects in files that are appended to and never edited.

A line is read with its place, so that what is wrong in one is told with file, line and key. The lines that are there stay byte
for byte when others are appended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import ValidationError

from vigil.digests import append_listed
from vigil.documents.document import DocumentError, Part, explain

L = TypeVar("L", bound="Line")


class Line(Part):
    """A line of a file, with the version of its form in `schema`. NOUN: what it is called in messages."""

    SCHEMA: ClassVar[int] = 1
    NOUN: ClassVar[str]
    ERROR: ClassVar[type[DocumentError]] = DocumentError

    @classmethod
    def parse(cls: type[L], text: str, *, where: str) -> L:
        """Return what stands in a line. Raises ERROR with the place: it is no JSON, or no such document."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise cls.ERROR(
                f"{where}: broken JSON at column {error.colno}: {error.msg}. One whole object a line is needed; "
                "restore the file from version control."
            ) from None
        return cls.checked(values, where=where)

    @classmethod
    def checked(cls: type[L], values: Any, *, where: str) -> L:
        """Return the document that JSON values are. Raises ERROR with place and key."""
        if not isinstance(values, dict):
            raise cls.ERROR(f"{where}: found {type(values).__name__}, needed is one JSON object a line.")
        if values.get("schema", cls.SCHEMA) != cls.SCHEMA:
            raise cls.ERROR(
                f"{where}: schema: found {values['schema']!r}, this Vigil reads {cls.SCHEMA}. Use the Vigil that wrote it."
            )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise cls.ERROR(f"{where}: {explain(error, noun=cls.NOUN)}") from None

    def line(self) -> str:
        """Return the document as it is written, with its line end."""
        return json.dumps(self.as_json(), allow_nan=False, ensure_ascii=False) + "\n"


def numbered(text: str, *, where: str) -> list[tuple[str, str]]:
    """Return (place, line) of each line of a file that is not blank: `FILE:NUMBER`."""
    return [(f"{where}:{number}", line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def append_lines(path: Path, lines: Sequence[Line]) -> None:
    """Append documents to a file, and keep the lines that are there byte for byte. A kill leaves it as it was, or complete."""
    append_listed(path, "".join(line.line() for line in lines))
