"""The exceptions in a log, in chains as Python prints them, and which of a chain decides.

The cause decides, not what it was wrapped into: the first of `raise ... from ...`, and the innermost that a worker's message
holds. While one exception was handled another may come: it is a wrapper where the function that handled the first raised it on
purpose, and else what really failed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

_HEADER = re.compile(r"^(.*?)((?:Original )?Traceback \(most recent call last\):)\s*$")
# What torchrun, Ray, groups of exceptions and quotations put before each line.
_PREFIX = re.compile(r"^(?:\[?\(?(?:default|rank|pid=|worker)\s?\d+(?:, ip=[\d.]+)?\]?\)?:?\s|\s*\|\s?)")
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+)(?:, in (.+))?$')
_RAISED = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::\s?(.*))?$")
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_SYNTAX = re.compile(r"^(SyntaxError|IndentationError|TabError): (.*)$")
_MOST_LINES_OF_A_MESSAGE = 40
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
# What frameworks write around a message: where in a graph it arose, and what called what.
_AROUND = re.compile(
    r"\{\{function_node [^}]*\}\} ?|^Exception encountered when calling .*$|^Graph execution error:$", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Frame:
    file: str
    function: str | None
    source: str


@dataclasses.dataclass
class Raised:
    """An exception in a log. relation: to the one before it. place: the number of its line."""

    type: str
    message: str
    frames: list[Frame]
    relation: str
    owner: str
    place: int

    @property
    def line(self) -> str:
        """Return it as Python prints it, on one line."""
        first = next((line.strip() for line in self.message.splitlines() if line.strip()), "")
        return f"{self.type}: {first}" if first else self.type

    @property
    def name(self) -> str:
        """Return the name of its type without its module."""
        return self.type.rpartition(".")[2]


def deciding(lines: Sequence[str]) -> list[Raised]:
    """Return the exceptions that may decide why a process ended: of the last chain in its log the cause, then what wrapped it.

    One that was ignored, as Python does in destructors, ends no process; one of a thread does where nothing else was raised.
    """
    found = exceptions(lines)
    for owner in ("main", "process", "thread"):
        chains = [chain for chain in _chains(found) if chain[0].owner == owner]
        if chains:
            return _cause_first(chains[-1])
    return []


def exceptions(lines: Sequence[str]) -> list[Raised]:
    """Return every exception in a log, in its order."""
    lines = [_PREFIX.sub("", _COLOURS.sub("", line.rstrip("\n"))) for line in lines]
    first = next((place for place, line in enumerate(lines) if _FRAME.match(line) or _HEADER.match(line)), None)
    if first is not None and not _HEADER.match(lines[first]):  # the log begins within a traceback, or one has no head
        lines.insert(first, "Traceback (most recent call last):")
    found: list[Raised] = []
    number = 0
    while number < len(lines):
        if header := _HEADER.match(lines[number]):
            raised, number = _read(lines, number, header, found)
            found += [raised] if raised else []
        elif (syntax := _SYNTAX.match(lines[number])) and _is_after_frame(lines, number):
            found.append(Raised(syntax[1], syntax[2], [], "first", "main", number))
            number += 1
        else:
            number += 1
    return found


def _read(lines: Sequence[str], start: int, header: re.Match[str], found: Sequence[Raised]) -> tuple[Raised | None, int]:
    """Return the exception of the traceback that begins at a line, and the number of the line after it."""
    relation, owner = _relation(lines, start, header, found)
    indent = len(header[1]) if not header[1].strip() else 0
    frames: list[Frame] = []
    number = start + 1
    while number < len(lines):
        line = lines[number][indent:]
        if frame := _FRAME.match(line):
            source = lines[number + 1].strip() if number + 1 < len(lines) else ""
            frames.append(Frame(frame[1], frame[3], "" if _FRAME.match(source) else source))
        elif line and not line[0].isspace() and (raised := _RAISED.match(line)):
            message = [raised[2] or ""]
            end = number + 1
            while end < len(lines) and len(message) < _MOST_LINES_OF_A_MESSAGE and not _ends_message(lines[end]):
                # Where in a graph it arose, a frame a line, says nothing of what.
                if lines[end].strip() and not _FRAME.match(lines[end][indent:]):
                    message.append(lines[end][indent:])
                end += 1
            text = _said("\n".join(message), type=raised[1])
            # The message may begin with the traceback of another process.
            return Raised(raised[1], text, frames, relation, owner, number), number + (not _HEADER.match(lines[number]))
        elif _HEADER.match(line) or line.startswith((_CAUSE, _CONTEXT)):
            break
        number += 1
    return None, number


def _said(message: str, *, type: str) -> str:
    """Return what a message says itself; of code that was compiled, what it was there."""
    if message.startswith("in user code:"):
        inner = list(re.finditer(rf"^\s+{re.escape(type.rpartition('.')[2])}: ", message, re.MULTILINE))
        message = message[inner[-1].end() :] if inner else message
    return _AROUND.sub("", message).strip()


def _relation(lines: Sequence[str], start: int, header: re.Match[str], found: Sequence[Raised]) -> tuple[str, str]:
    before = next((lines[place].strip() for place in range(start - 1, -1, -1) if lines[place].strip()), "")
    owner = found[-1].owner if found else "main"
    if before.startswith(_CAUSE):
        return "cause", owner
    if before.startswith(_CONTEXT):
        return "context", owner
    # On the exception's own line, in quotes, announced as the original, or after a message that ends in a colon.
    if header[2].startswith("Original") or header[1].strip() or before == '"""' or before.endswith((":", ": ")):
        is_own = header[2].startswith("Original") or before == '"""' or (found and start - found[-1].place < 10)
        if is_own and not re.match(r"(Exception ignored|Exception in thread|Process )", before):
            return ("nested" if found else "first"), owner
    for owner, words in (("ignored", "Exception ignored"), ("thread", "Exception in thread"), ("process", "Process ")):
        if before.startswith(words):
            return "first", owner
    return "first", "main"


def _ends_message(line: str) -> bool:
    return bool(_HEADER.match(line)) or line.strip().startswith((_CAUSE, _CONTEXT, "Exception ignored", '"""', "-" * 20))


def _is_after_frame(lines: Sequence[str], number: int) -> bool:
    return any(_FRAME.match(line) for line in lines[max(number - 4, 0) : number])


def _chains(found: Sequence[Raised]) -> list[list[Raised]]:
    chains: list[list[Raised]] = []
    for each in found:
        if each.relation == "first" or not chains:
            chains.append([each])
        else:
            chains[-1].append(each)
    return chains


def _cause_first(chain: Sequence[Raised]) -> list[Raised]:
    cause = 0
    for place in range(1, len(chain)):
        each = chain[place]
        # What a table of kernels has not is not implemented, whatever the lookup raised.
        says_more = each.relation == "cause" and each.name == "NotImplementedError"
        if says_more or each.relation == "nested" or (each.relation == "context" and not _wraps(chain[place - 1], each)):
            cause = place
    return [chain[cause], *chain[cause + 1 :], *reversed(chain[:cause])]


def _wraps(before: Raised, later: Raised) -> bool:
    """Did the function that handled one exception raise the other on purpose?"""
    if not before.frames or not later.frames:
        return True
    caught, raising = before.frames[0], later.frames[-1]
    return raising.source.startswith("raise") and (raising.file, raising.function) == (caught.file, caught.function)
