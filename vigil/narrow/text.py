"""Lines of Python that are too long to be read, made shorter without a change of what they mean."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence

WIDTH = 160
_OPENING, _CLOSING = "([{", ")]}"


def wrapped(lines: Sequence[str], *, width: int = WIDTH) -> list[str]:
    """Return lines of which none is longer, broken behind commas within brackets and within texts there."""
    return [short for line in lines for short in (_broken(line, width) if len(line) > width else [line])]


def _broken(line: str, width: int) -> Iterator[str]:
    text, own = line.strip(), line[: len(line) - len(line.lstrip())]
    current = own
    for unit in _units(text, width - len(own) - 4):
        if len(current) + len(unit) > width and current.strip():
            yield current.rstrip()
            current, unit = own + "    ", unit.lstrip()
        current += unit
    yield current


def _units(text: str, width: int) -> Iterator[str]:
    """Yield the parts of a line that may stand on lines of their own: up to each comma within brackets."""
    current, depth, end = "", 0, 0
    for token in _tokens(text):
        if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT):
            continue
        space = text[end : token.start[1]]
        pieces = _pieces(token, width) if depth else [token.string]
        for piece in pieces[:-1]:
            yield current + space + piece
            current, space = "", ""
        current += space + pieces[-1]
        if token.type == tokenize.OP:
            depth += (token.string in _OPENING) - (token.string in _CLOSING)
            if token.string == "," and depth:
                yield current
                current = ""
        end = token.end[1]
    yield current


def _pieces(token: tokenize.TokenInfo, width: int) -> list[str]:
    """Return a token, or the parts of a text that is too long for a line: neighbours are joined again by Python."""
    if token.type != tokenize.STRING or len(token.string) <= width or token.string[0] not in "'\"":
        return [token.string]
    value = ast.literal_eval(token.string)
    step = width - 20
    return [repr(value[place : place + step]) for place in range(0, len(value), step)]


def _tokens(line: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(line + "\n").readline)
    except tokenize.TokenError:
        return
