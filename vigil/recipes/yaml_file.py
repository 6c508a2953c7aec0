"""Reading a recipe file so that a mistake in it can be pointed at: YAML with line numbers, and messages from a schema.

Kept apart from `vigil/recipes/loading.py`, which says what a recipe is. Nothing here knows a key of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from vigil.errors import RecipeError, nearest

Location = tuple[str | int, ...]

KINDS = {bool: "", type(None): "", int: " (a whole number)", float: " (a number)", str: " (text)", list: " (a list)"}
_MOST_MESSAGES = 20
NUMBER_READ_AS_TEXT = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)[eE]([+-]?)(\d+)")
NUMBER_IN_ANOTHER_BASE = re.compile(r"[+-]?(0[bxo]?[0-9a-fA-F_]+|.*:.*)")  # 010 is 8, and 1:30 is 90


@dataclass(frozen=True)
class YamlFile:
    """The content of a YAML file, and the line on which each key and list item stands."""

    name: str
    content: Any
    lines: Mapping[Location, int]

    def line(self, location: Location) -> int:
        """Return the line of a location, or of the nearest block around it that the file does have."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def value(self, location: Location) -> Any:
        """Return what stands at a location."""
        found = self.content
        for part in location:
            found = found[part]
        return found


class _Loader(yaml.SafeLoader):
    """Safe loading that also refuses what YAML would settle silently.

    Duplicate keys, values written elsewhere, values that a tag makes into something else, and numbers that are not decimal.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, "found an alias (*); write the value out instead", mark)
        if (tag := getattr(self.peek_event(), "tag", None)) is not None:
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, f"found the tag {tag}; write the plain value instead", mark)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            value = super().construct_object(node, deep=deep)
        except ValueError as error:  # a date such as 2026-13-45, or a number of thousands of digits
            problem = f"found a value that YAML cannot read: {error}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error
        if type(value) in (int, float) and NUMBER_IN_ANOTHER_BASE.fullmatch(node.value):
            problem = f"found {node.value}, which YAML reads as {value}; write the decimal number"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        first_lines: dict[str, int] = {}
        for key_node, _ in node.value:
            mark = key_node.start_mark
            key = key_node.value
            if key_node.tag != self.DEFAULT_SCALAR_TAG:
                written = f"the key {key}, which YAML does not read as text" if isinstance(key, str) else "a block as key"
                raise yaml.constructor.ConstructorError(None, None, f"found {written}", mark)
            if key in first_lines:
                problem = f"found the key {key!r} a second time; the first is on line {first_lines[key]}"
                raise yaml.constructor.ConstructorError(None, None, problem, mark)
            first_lines[key] = mark.line + 1
        return super().construct_mapping(node, deep=deep)


def read_document(content: bytes, name: str) -> YamlFile:
    """Return the one YAML document in `content`; `name` is how messages call the file.

    Raises:
        RecipeError: The text is not UTF-8, not YAML, empty, or has a duplicate key: with file, line and column.
    """
    try:
        text = content.decode("utf-8-sig")
        loader = _Loader(text)
        node = loader.get_single_node()
        data = None if node is None else loader.construct_document(node)
    except UnicodeDecodeError as error:
        line, column = _position(content[: error.start].decode("utf-8-sig"))
        raise RecipeError(f"{name}:{line}:{column}: found a byte that is not UTF-8. Allowed: UTF-8 text.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        where = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        raise RecipeError(f"{name}:{where}: not a recipe's YAML: {problem}.") from error
    except yaml.reader.ReaderError as error:
        line, column = _position(text[: error.position])
        raise RecipeError(f"{name}:{line}:{column}: found a character that YAML does not allow.") from error
    except RecursionError as error:
        raise RecipeError(f"{name}:1:1: found lists or blocks nested too deep to read.") from error
    if node is None:
        raise RecipeError(f"{name}:1:1: found an empty file. Allowed: a recipe.")
    return YamlFile(name=name, content=data, lines=_lines(node))


def explain(document: YamlFile, errors: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> str:
    """Return one line for each validation error: file, line, key, what was found, what is allowed, what to do.

    Args:
        errors: pydantic's `ValidationError.errors()`; one of type `inconsistent` brings its own whole message.
        schema: The JSON Schema that the document was validated against; what is allowed is read from it.
    """
    messages = []
    for error in errors:
        location, kind = _location_and_kind(error)
        message = str(error["msg"]) if kind == "inconsistent" else None
        if kind.startswith("union_tag"):
            location, message = _explain_tag(document, location, schema)
        message = message or _explain_one(document, location, kind, schema)
        location = _without_tags(location, schema)
        key = ".".join(map(str, location)) or "(the whole file)"
        line = document.line(location)
        messages.append((line, f"{document.name}:{line}: {key}: {message}"))
    lines = [message for _, message in sorted(messages, key=lambda each: each[0])]
    more = [f"{document.name}: and {len(lines) - _MOST_MESSAGES:,} more mistakes"] if len(lines) > _MOST_MESSAGES else []
    return "\n".join([*lines[:_MOST_MESSAGES], *more])


def _location_and_kind(error: Mapping[str, Any]) -> tuple[Location, str]:
    location: Location = tuple(error["loc"])
    if location[-1:] == ("[key]",):
        return location[:-1], "key"
    if error["type"] == "missing" and isinstance(location[-1], int):
        return location[:-1], "too_short"
    return location, str(error["type"])


def _explain_one(document: YamlFile, location: Location, kind: str, schema: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        keys = list(_block(_at(schema, location[:-1]), schema)["properties"])
        return f"found an unknown key. Allowed: {', '.join(keys)}.{nearest(location[-1], keys)}"
    if kind == "key":
        (pattern,) = _at(schema, location[:-1])["patternProperties"]
        return f"found the key {shown(location[-1])}. Allowed: a short name that matches {pattern}."
    node = _at(schema, location)
    allowed = describe(node, schema)
    if kind == "missing":
        return f"missing, and there are no defaults. Allowed: {allowed}."
    found = document.value(_without_tags(location, schema))
    return f"found {shown(found)}. Allowed: {allowed}.{nearest(found, node.get('enum', []))}{_number_hint(found, node)}"


def _explain_tag(document: YamlFile, location: Location, schema: Mapping[str, Any]) -> tuple[Location, str]:
    """Return where a block says of which kind it is, and what it may say there."""
    choice = _at(schema, location)["discriminator"]
    name, allowed = choice["propertyName"], list(choice["mapping"])
    location = (*location, name)
    if name not in document.value(location[:-1]):
        return location, f"missing, and there are no defaults. Allowed: {' or '.join(allowed)}."
    found = document.value(location)
    return location, f"found {shown(found)}. Allowed: {' or '.join(allowed)}.{nearest(found, allowed)}"


def _without_tags(location: Location, schema: Mapping[str, Any]) -> Location:
    """Return the location in the document: within a block that is of one of several kinds, pydantic names the kind as well."""
    return tuple(part for index, part in enumerate(location) if part not in _kinds_of(schema, location[:index]))


def _kinds_of(schema: Mapping[str, Any], location: Location) -> Mapping[str, str]:
    return _at(schema, location).get("discriminator", {}).get("mapping", {})


def describe(node: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return in words what a node of a JSON Schema admits."""
    node = _resolve(node, schema)
    if choices := node.get("oneOf") or node.get("anyOf"):
        return " or ".join(describe(choice, schema) for choice in choices)
    if "const" in node or "enum" in node:
        return " or ".join(_plain(value) for value in node.get("enum", [node.get("const")]))
    kind = node.get("type")
    if kind in ("number", "integer"):
        return ("a number" if kind == "number" else "a whole number") + _range(node)
    if kind == "array":
        items = node.get("prefixItems") or [node.get("items", {})]
        count = f"{len(items)} items, each " if "prefixItems" in node else ""
        return f"a list of {count}{describe(items[0], schema)}"
    if kind == "object":
        keys = node.get("properties")
        return f"a block with the keys {', '.join(keys)}" if keys else "a block of named blocks"
    if kind in ("boolean", "null"):
        return "true or false" if kind == "boolean" else "null"
    return f"text that matches {node['pattern']}" if "pattern" in node else "text, not empty"


def shown(found: object) -> str:
    """Return a found value with its kind in words, cut short."""
    if isinstance(found, dict):
        return f"a block with the keys {', '.join(map(str, found))}"[:100] if found else "an empty block"
    plain = f'"{found}"' if isinstance(found, str) else _plain(found)
    plain = plain if len(plain) <= 60 else plain[:57] + "..."
    return plain + KINDS.get(type(found), f" (a {type(found).__name__})")


def _plain(value: object) -> str:
    words = {None: "nothing", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _range(node: Mapping[str, Any]) -> str:
    low, high = _limit(node, "minimum"), _limit(node, "maximum")
    above, below = _limit(node, "exclusiveMinimum"), _limit(node, "exclusiveMaximum")
    if low and low == high:
        return f", {low} only"
    if low and high:
        return f" from {low} to {high}"
    lower = f" above {above}" if above else f" of {low} or more" if low else ""
    upper = f" below {below}" if below else f" up to {high}" if high else ""
    return f"{lower}{' and' if lower and upper else ''}{upper}"


def _limit(node: Mapping[str, Any], key: str) -> str:
    """Return a limit as a person reads it; nothing where there is none."""
    limit = node.get(key)
    return "" if limit is None else f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _number_hint(found: object, node: Mapping[str, Any]) -> str:
    """Return how to write a float that YAML 1.1 reads as text: it wants a point, and a sign in the exponent."""
    match = NUMBER_READ_AS_TEXT.fullmatch(found) if isinstance(found, str) else None
    if match is None or node.get("type") != "number":
        return ""
    sign, mantissa, exponent_sign, exponent = match.groups()
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f" YAML reads {found} as text: write {sign}{mantissa}e{exponent_sign or '+'}{exponent}."


def _at(schema: Mapping[str, Any], location: Location) -> Mapping[str, Any]:
    """Return the node of a JSON Schema that describes a location of the document."""
    node = _resolve(schema, schema)
    for part in location:
        node = _block(node, schema)
        if isinstance(part, int):
            prefix = node.get("prefixItems")
            child = prefix[min(part, len(prefix) - 1)] if prefix else node["items"]
        elif part in node.get("discriminator", {}).get("mapping", {}):
            child = {"$ref": node["discriminator"]["mapping"][part]}
        elif part in node.get("properties", {}):
            child = node["properties"][part]
        elif "patternProperties" not in node:
            return {}
        else:
            (child,) = node["patternProperties"].values()
        node = _resolve(child, schema)
    return node


def _block(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the node of a block that may be null as that of the block."""
    if "anyOf" not in node:
        return node
    return next(each for choice in node["anyOf"] if (each := _resolve(choice, schema)).get("type") != "null")


def _resolve(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _lines(node: yaml.Node, location: Location = ()) -> dict[Location, int]:
    found = {location: node.start_mark.line + 1} if not location else {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*location, key.value)
            found |= {here: key.start_mark.line + 1, **_lines(value, here)}
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*location, index)
            found |= {here: value.start_mark.line + 1, **_lines(value, here)}
    return found


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - before.rfind("\n")
