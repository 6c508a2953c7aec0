"""The corpus of failures: scripts that fail for real, what they left, and how well the triage tells them.

    python -m benchmarks.failures produce [plain torch tensorflow jax]   run the scripts and keep what they left
    python -m benchmarks.failures measure                               what the triage says of each, as it is now
    python -m benchmarks.failures first ROUND                           keep what is said of those that were never measured
    python -m benchmarks.failures page                                  the tables of docs/failures.md

The scripts lie in benchmarks/failing/, a table of text for each framework, with the category that each is to be told as: written
down with the script, before it is run. What a script left (exit status, the kernel's count of kills for memory, the end of its
log) lies in benchmarks/failing/corpus.jsonl, so that tests need no framework; what was said of each when it was first measured,
in benchmarks/failing/first.json. To produce all of it a machine must let one mount, and make a cgroup of version 1: as root in a
container.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reports.tables import markdown_table
from vigil.documents.failure import Triage
from vigil.failures.categories import CATEGORIES
from vigil.failures.triage import Evidence, triage
from vigil.redaction import redact

FOLDER = Path(__file__).parent / "failing"
CORPUS, FIRST = FOLDER / "corpus.jsonl", FOLDER / "first.json"
PAGE = Path(__file__).parents[1] / "docs" / "failures.md"
TABLES = ("plain", "torch", "tensorflow", "jax")
SEEN = ("plain", "torch")
_ROUNDS = ("first set", "second set", "third set", "fourth set", "fifth set", "sixth set")
_LOG_LINES = 400
_MIB = 2**20
_NOBODY = 65534
_TIMEOUT_SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Script:
    """A script that fails, and the category that it is to be told as.

    limits: how it is made to fail, by name: `memory`, `cgroup`, `file` and `tmpfs` in MiB, `timeout` in seconds, the `arguments`
    of Python; `readonly`: a place `small` that nobody may write to; `locked`: another user's folder, and none of root's rights.
    is_near_miss: does its log hold the words of another category? round: 0 of the first scripts, n of those that
    were written, and measured once, before the rules were changed for the n-th time after that.
    """

    table: str
    name: str
    category: str
    source: str
    limits: dict[str, str]
    is_near_miss: bool
    round: int


@dataclasses.dataclass(frozen=True)
class Left:
    """What a script left. exit_code: negative for a signal; None for one that was ended because it hung."""

    table: str
    name: str
    category: str
    is_near_miss: bool
    round: int
    exit_code: int | None
    oom_kills: int | None
    log: tuple[str, ...]


def scripts(table: str) -> list[Script]:
    """Return the scripts of a table. Raises ValueError for a head that is none, FileNotFoundError for a table that is gone."""
    text = (FOLDER / f"{table}.txt").read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        head, _, source = part.partition("\n")
        matched = re.fullmatch(r"(\w+): (\w+)((?: \[[^\]]+\])*)", head)
        if matched is None:
            raise ValueError(f"{table}.txt: {head!r}: found no `name: category [options]`")
        options = re.findall(r"\[([^\]]+)\]", matched[3])
        limits = dict(option.split("=", 1) for option in options if "=" in option)
        facts = (limits, "near miss" in options, int(limits.pop("round", 0)))
        found.append(Script(table, matched[1], matched[2], source.strip() + "\n", *facts))
    return found


def fail(script: Script, python: Path | None = None) -> Left:
    """Run a script in a directory of its own, and return what it left. Raises ValueError for one that does not fail."""
    limits = script.limits
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="job-")))
        work.chmod(0o777)
        (work / "train.py").write_text(script.source, encoding="utf-8")
        if "tmpfs" in limits or "readonly" in limits:
            options = "ro" if "readonly" in limits else f"size={limits['tmpfs']}m"
            stack.enter_context(_mounted(work / "small", options))
        if "locked" in limits:
            (work / "locked").mkdir()
            (work / "locked" / "notes.txt").write_text("1\n")
            for path in (work / "locked" / "notes.txt", work / "locked"):
                path.chmod(0o700)
                os.chown(path, _NOBODY, _NOBODY)
        group = stack.enter_context(_cgroup(int(limits["cgroup"]))) if "cgroup" in limits else None
        exit_code = _run(script, work, python or Path(sys.executable), group)
        kills = _count_of_kills(group) if group else 0
        log = (work / "log.txt").read_text(encoding="utf-8", errors="replace")
    if exit_code == 0:
        raise ValueError(f"{script.table}/{script.name}: it ended with exit code 0")
    lines = tuple(_without_places(redact(log), work).splitlines()[-_LOG_LINES:])
    facts = (script.is_near_miss, script.round)
    return Left(script.table, script.name, script.category, *facts, exit_code, kills, lines)


def _run(script: Script, work: Path, python: Path, group: Path | None) -> int | None:
    arguments = script.limits.get("arguments", "train.py").split()
    # Root may do anything, unless it has no capabilities.
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if "locked" in script.limits else []
    seconds = float(script.limits.get("timeout", _TIMEOUT_SECONDS))
    environment = {"PATH": os.environ["PATH"], "HOME": str(work), "TMPDIR": str(work), "TF_CPP_MIN_LOG_LEVEL": "1"}
    with (work / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [*without_rights, str(python), *arguments],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limits_of(script, group),
        )
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            if "timeout" not in script.limits:
                raise ValueError(f"{script.table}/{script.name}: it did not end within {seconds:.0f} s") from None
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _limits_of(script: Script, group: Path | None) -> Callable[[], None]:
    """Return what a process that has just been forked does to itself before the script."""
    limits = script.limits

    def limit() -> None:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        for name, kind in (("memory", resource.RLIMIT_AS), ("file", resource.RLIMIT_FSIZE)):
            if name in limits:
                resource.setrlimit(kind, (int(limits[name]) * _MIB,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


@contextlib.contextmanager
def _mounted(place: Path, options: str) -> Iterator[None]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextlib.contextmanager
def _cgroup(mebibytes: int) -> Iterator[Path]:
    own = next(line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
    group = Path(f"/sys/fs/cgroup/memory{own}/failing-{os.getpid()}")
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(mebibytes * _MIB))
        yield group
    finally:
        group.rmdir()


def _count_of_kills(group: Path) -> int:
    return int(re.findall(r"^oom_kill (\d+)", (group / "memory.oom_control").read_text(), re.MULTILINE)[0])


def _without_places(log: str, work: Path) -> str:
    """Return a log without the paths of this machine."""
    for place, name in ((str(work), "/job"), (sys.prefix, "/env"), (sys.base_prefix, "/usr")):
        log = log.replace(str(Path(place).resolve()), name).replace(place, name)
    return log


def corpus() -> list[Left]:
    """Return what all scripts left when they were last run."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines()
    return [Left(**{**one, "log": tuple(one["log"])}) for one in map(json.loads, lines)]


def produce(names: Sequence[str]) -> None:
    """Run the scripts of these tables, or of these names as `torch/tensor_too_large`, and replace what is kept of them."""
    kept = {(one.table, one.name): one for one in corpus()} if CORPUS.exists() else {}
    known = [script for table in TABLES for script in scripts(table)]
    for script in known:
        if script.table not in names and f"{script.table}/{script.name}" not in names:
            continue
        try:
            left = fail(script)
        except ValueError as error:
            print(error, file=sys.stderr)
            continue
        print(f"{script.table}/{script.name}: {left.exit_code}: {(left.log or ('',))[-1][:90]}", file=sys.stderr)
        kept[script.table, script.name] = left
    found = [kept[key] for script in known if (key := (script.table, script.name)) in kept]
    CORPUS.write_text("".join(json.dumps(dataclasses.asdict(one)) + "\n" for one in found), encoding="utf-8")


def told(left: Left) -> Triage:
    """Return the triage of what a script left, as a conductor would have it."""
    is_hung = left.exit_code is None
    said, message = ("hang", "it was ended, for it made no progress") if is_hung else (None, None)
    return triage(Evidence(left.log, exit_code=left.exit_code, said=said, message=message, oom_kills=left.oom_kills or 0))


def measure() -> None:
    """Print what is told wrong, and the share that is told right, by table."""
    for table in TABLES:
        found = [(one, told(one)) for one in corpus() if one.table == table]
        right = sum(one.category == answer.category for one, answer in found)
        for one, answer in found:
            if one.category != answer.category:
                print(f"{table}/{one.name}: {one.category} told as {answer.category} ({answer.basis}): {answer.line}")
        print(f"{table}: {right} of {len(found)} told right")


def first(round: int) -> None:
    """Keep what is said of each failure of a round that was never measured before; of the first, of held-out tables alone."""
    said = _first()
    asked = [one for one in corpus() if one.round == round and (round or one.table not in SEEN)]
    said = {_key(one): told(one).category for one in asked} | said
    FIRST.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def page() -> None:
    """Write the tables of docs/failures.md."""
    found = [(one, told(one).category) for one in corpus()]
    said = _first()
    parts = [(table, round) for round in range(len(_ROUNDS)) for table in TABLES]
    rows = []
    for table, round in parts:
        own = [(one, now) for one, now in found if (one.table, one.round) == (table, round)]
        if own:
            before = [said[_key(one)] == one.category for one, _ in own if _key(one) in said]
            shown = f"{sum(before)} of {len(before)}" if before else "in sight when rules were written"
            right = sum(one.category == now for one, now in own)
            near = sum(one.is_near_miss for one, _ in own)
            rows.append((f"{table}, {_ROUNDS[round]}", str(len(own)), str(near), shown, f"{right} of {len(own)}"))
    lines = [*markdown_table(("failures of", "how many", "near misses", "right when first measured", "right now"), rows), ""]
    lines += [f"{sum(one.category == now for one, now in found)} of {len(found)} are told right now.", ""]
    by_category = [(row.key, row, [(one, now) for one, now in found if one.category == row.key]) for row in CATEGORIES.values()]
    lines += markdown_table(
        ("category", "dimension", "how many", "right now", "told as instead", "right when first measured", "told as instead"),
        [
            (
                row.name,
                row.dimension,
                str(len(own)),
                *_counted([(key, now) for _, now in own]),
                *_counted([(key, said[_key(one)]) for one, _ in own if _key(one) in said]),
            )
            for key, row, own in by_category
        ],
    )
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- made by python -m benchmarks.failures page -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    PAGE.write_text(before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2], encoding="utf-8")


def _counted(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return how many of (is, told as) agree, and what the others are told as."""
    wrong = Counter(CATEGORIES[said].name for is_, said in pairs if is_ != said)
    right = sum(is_ == said for is_, said in pairs)
    return f"{right} of {len(pairs)}" if pairs else "-", ", ".join(f"{count} {name}" for name, count in wrong.items()) or "-"


def _first() -> dict[str, str]:
    return json.loads(FIRST.read_text(encoding="utf-8")) if FIRST.exists() else {}


def _key(left: Left) -> str:
    return f"{left.table}/{left.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["produce", "measure", "first", "page"])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}, or TABLE/NAME (default: all)")
    given = parser.parse_args()
    if given.action == "produce":
        produce(given.tables or TABLES)
    elif given.action == "first":
        first(int(given.tables[0]))
    else:
        {"measure": measure, "page": page}[given.action]()


if __name__ == "__main__":
    main()
