"""A document: closed, typed JSON with a schema number, written whole and read back with the place of what is wrong in it.

`Record.read(directory)` and `Record.parse(text, where=...)` read one, `write` and `text` write it, and `replace` makes the next
version of it, which whoever works on it holds in a local. A key that a document never had is not written into it: one from before
the key was added stays as it was, and fields whose default is empty may be left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from runners.contract.files import digest_of_values, replace_text
from runners.contract.protocol.events import encode_float
from vigil.errors import CannotRun

DIGEST = "sha256"
SomePart = TypeVar("SomePart", bound="Part")
SomeDocument = TypeVar("SomeDocument", bound="Document")
Number = Annotated[
    float,
    BeforeValidator(lambda value: float(value) if isinstance(value, str) else value),
    PlainSerializer(encode_float, when_used="json"),
]
"""A number that JSON may have no form for: infinities and NaN are written as text."""


class DocumentError(CannotRun):
    """A document that cannot be read: which file, which key, what was found."""


class Part(BaseModel):
    """Part of a document: closed, so that a key that nobody reads is an error; changed only by `replace`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, protected_namespaces=())
    # These are left out where they are null, too.
    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ()

    def replace(self: SomePart, **changes: Any) -> SomePart:
        """Return a copy with some fields changed, all of them checked again."""
        return type(self).model_validate({**{name: getattr(self, name) for name in self.model_fields_set}, **changes})

    def as_json(self) -> dict[str, Any]:
        """Return the content as JSON values, with the keys in the order of the fields."""
        return self.model_dump(mode="json", by_alias=True)

    @model_serializer(mode="wrap")
    def _without_what_is_left_out(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content, fields = handler(self), type(self).model_fields
        never_had = {name for name in fields.keys() - self.model_fields_set if fields[name].default in (None, ())}
        null = {name for name in self.LEFT_OUT_WHEN_NONE if getattr(self, name) is None}
        return {key: value for key, value in content.items() if key not in never_had | null}


class Document(Part):
    """A file of its own, with the version of its form in `schema` and the digest of its content in `sha256`.

    Documents from before there were digests have none.
    """

    SCHEMA: ClassVar[int] = 1
    FILE_NAME: ClassVar[str]

    @classmethod
    def read(cls: type[SomeDocument], directory: Path) -> SomeDocument:
        """Return the document of a directory.

        Raises:
            FileNotFoundError: There is none.
            DocumentError: It cannot be read, is not JSON, or is no such document; with file, key and what was found.
        """
        path = directory / cls.FILE_NAME
        return cls.parse(path.read_bytes(), where=str(path))

    @classmethod
    def parse(cls: type[SomeDocument], content: bytes | str, *, where: str) -> SomeDocument:
        """Return the document in a text of JSON. Raises DocumentError."""
        try:
            values = json.loads(content)
        except (ValueError, UnicodeDecodeError) as error:
            raise DocumentError(f"{where}: not JSON ({error}). It was altered or cut off.") from error
        found = values.get("schema", cls.SCHEMA) if isinstance(values, dict) else None
        if isinstance(values, dict) and found != cls.SCHEMA:
            raise DocumentError(f"{where}: schema: found {found!r}, this Vigil reads {cls.SCHEMA}. Use the Vigil that wrote it.")
        digest = values.pop(DIGEST, None) if isinstance(values, dict) else None
        try:
            document = cls.model_validate(values)
        except ValidationError as error:
            raise DocumentError(f"{where}: {explain(error)}") from error
        if digest not in (None, digest_of_values(values)):
            raise DocumentError(
                f"{where}: {DIGEST}: the content is not what was written: it was altered or damaged. Restore it; "
                f"if the change is meant, take the key {DIGEST} out."
            )
        return document

    def write(self, directory: Path) -> Path:
        """Replace the document of a directory as a whole; return its path."""
        path = directory / self.FILE_NAME
        replace_text(path, self.text())
        return path

    def text(self) -> str:
        """Return the document as it is written."""
        content = self.as_json()
        return self._laid_out({**content, DIGEST: digest_of_values(content)})

    def _laid_out(self, content: dict[str, Any]) -> str:
        return json.dumps(content, indent=1, allow_nan=False) + "\n"


def explain(error: ValidationError, *, noun: str = "document") -> str:
    """Return the first mistake in a document: key, what was found, what is allowed; and how many more there are.

    Keys that are missing come first, all of them, and then those that nobody reads.
    """
    errors = error.errors(include_url=False)
    for kind, said in (
        ("missing", f"missing. A {noun} needs every key."),
        ("extra_forbidden", f"not a key of a {noun}. Take it out."),
    ):
        keys = [_key(one["loc"]) for one in errors if one["type"] == kind]
        if keys:
            return f"{', '.join(keys)}: {said}"
    first = errors[0]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    said = first["msg"].removeprefix("Value error, ").replace("Input should be ", "allowed is ")
    if first["type"] != "value_error":
        said = f"found {_shown(first['input'])}, {said}"
    elif first["loc"] and not said.startswith("found "):
        said = f"found {_shown(first['input'])}: {said}"
    return f"{_key(first['loc'])}: {said}{more}" if first["loc"] else f"{said}{more}"


def _key(location: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in location)


def _shown(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(str(value) if isinstance(value, Enum) else value)
    return text if len(text) <= 60 else text[:57] + "..."
