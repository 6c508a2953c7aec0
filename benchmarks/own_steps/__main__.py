"""`python -m benchmarks.own_steps`: what limits of users' programs are made of, and how often a correct program passes them.

`measure` appends clean rows to reference_results/own_steps/verify/; `count` says in how many (program, context, seed) cells a
correct program is above limits made from the others; `check` holds other batches to the limits as they are; `faults` plants
faults in the programs, in float32.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.own_steps.faults import detect, page
from benchmarks.own_steps.measure import MODES, PRECISIONS, REPEATS, alarms_of_program, rows_of_program
from benchmarks.own_steps.plant import PLANTS, PROGRAMS
from runners.contract.steps import frame
from vigil.digests import append_listed, read_listed
from vigil.documents.context import DEVICES
from vigil.paths import reference_directory
from vigil.process.environment import describe_machine
from vigil.process.hosts import hosts
from vigil.process.side_by_side import available_cores, side_by_side
from vigil.steps.limits import NAME, limits_of, scores_of, step_limits
from vigil.steps.processes import run
from vigil.steps.verify import asked_of, framework_of, settings_of
from vigil.verify.limits import Limits, size_of

PROGRAMS_OF_ALL = sorted(PROGRAMS.glob("[a-z]*_*.py"))


def clean_folder() -> Path:
    """Return where clean rows are kept."""
    return reference_directory() / NAME / "verify"


def clean_rows() -> list[dict[str, Any]]:
    """Return every clean row."""
    return [
        json.loads(line) for content in read_listed(clean_folder(), "clean-*.jsonl").values() for line in content.splitlines()
    ]


def measure(
    programs: Sequence[Path],
    *,
    seeds: Sequence[int],
    precisions: Sequence[str],
    modes: Sequence[str],
    device: str,
    has_looks: bool,
    jobs: int,
) -> None:
    """Measure programs and append their rows, a program and precision at a time.

    Args:
        has_looks: measure in float32 what is inside as well; limits are in floors of a precision's own.
    """
    stop, lock = threading.Event(), threading.Lock()
    items = [(file, precision, looks) for file in programs for precision in precisions for looks in (False, True)
             if not looks or (has_looks and precision == "fp32")]  # fmt: skip

    def work(item: tuple[Path, str, bool], cores: list[int] | None) -> int:
        file, precision, looks = item
        framework = framework_of(file)
        with tempfile.TemporaryDirectory() as folder:
            rows = list(
                rows_of_program(
                    asked_of(file, framework, stop=stop, hosts=opened, repeats=REPEATS),
                    Path(folder) / "run",
                    seeds=seeds[:1] if looks else seeds,
                    modes=[mode for mode in modes if not (looks and mode == "jit")],
                    precision=precision,
                    device=device,
                    looks=looks,
                    cores=cores or available_cores(),
                )
            )
        with lock:
            clean_folder().mkdir(parents=True, exist_ok=True)
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            append_listed(clean_folder() / f"clean-{framework}.jsonl", lines)
        print(f"{file.stem} {precision}{' inside' if looks else ''}: {len(rows)} rows", flush=True)
        return len(rows)

    with hosts() as opened:
        side_by_side(items, work, jobs=jobs, stop=stop, on_end=lambda done, count: print(f"[{done}/{len(items)}]", flush=True))


def check(
    programs: Sequence[Path],
    *,
    seeds: Sequence[int],
    precisions: Sequence[str],
    modes: Sequence[str],
    threads: Sequence[int],
    jobs: int,
) -> tuple[int, list[str]]:
    """Return how many cells (program, context, batch) were held to the limits as they are, and every alarm in them.

    No limit is made of what is measured here.
    """
    stop, limits = threading.Event(), step_limits()
    items = [(file, precision) for file in programs for precision in precisions]
    cells, alarms = 0, []

    def work(item: tuple[Path, str], cores: list[int] | None) -> tuple[str, int, list[str]]:
        file, precision = item
        framework = framework_of(file)
        with tempfile.TemporaryDirectory() as folder:
            count, found = alarms_of_program(
                asked_of(file, framework, stop=stop, hosts=opened, repeats=REPEATS),
                Path(folder) / "run",
                seeds=seeds,
                settings=settings_of(framework, modes, [precision], threads),
                limits=limits,
                cores=cores or available_cores(),
            )
        return f"{file.stem} {precision}", count, found

    def on_end(done: int, found: tuple[str, int, list[str]]) -> None:
        nonlocal cells
        cells += found[1]
        alarms.extend(found[2])
        _tell("\n".join([*found[2], f"[{done}/{len(items)}] {found[0]}: {found[1]} cells; in all {cells}, {len(alarms)} alarms"]))

    with hosts() as opened:
        side_by_side(items, work, jobs=jobs, stop=stop, on_end=on_end)
    return cells, alarms


def count(rows: Sequence[dict[str, Any]]) -> tuple[int, list[str]]:
    """Return how many cells there are (program, context, seed), and what raised a false alarm in which.

    Each program is held to limits made from all the others, as a user's own is.
    """
    cells: dict[tuple[str, str], list[str]] = {}
    for program in dict.fromkeys(row["program"] for row in rows):
        limits = limits_of(row for row in rows if row["program"] != program)
        for row in rows:
            if row["program"] == program and "/" not in size_of(row["case"]):
                alarms = cells.setdefault((row["context"], row["seed"]), [])
                alarms += [f"{row['seed']} {row['context']} {row['case']} {name}" for name in _above(row, limits)]
    return len(cells), [alarm for alarms in cells.values() for alarm in alarms]


def _above(row: dict[str, Any], limits: Limits) -> list[str]:
    """Return which families of a row are above their limits, without what rounding reaches in a tensor of its size."""
    above = []
    for family in row["largest"]:
        if family in row.get("not_clean", {}):
            continue
        for statistic, value in scores_of(row, family).items():
            limit = limits.table.get((row["precision"], size_of(row["case"]), family, statistic))
            if limit is not None and value > limit.value:
                above.append(f"{family} {statistic} {value:.3g} above {limit.value:.3g}")
    return above


def derivatives(programs: Sequence[Path], directory: Path) -> None:
    """Print of each program's float64 step, in float32's types, how near its gradients are to central differences."""
    stop, shares = threading.Event(), []

    def work(file: Path, cores: list[int] | None) -> tuple[str, float]:
        asked = asked_of(file, framework_of(file), stop=stop)
        ended = run(asked, directory / file.stem, task="oracle", precision="fp32", seeds=[0], cores=cores)
        if ended.failure:
            raise SystemExit(f"{file.stem}: {ended.failure.category}: {ended.failure.message}")
        found = ended.read(frame.FLOORS)["facts"]["derivative"][""]
        return file.stem, abs(found["central"] - found["gradients"]) / found["error"]

    def on_end(done: int, found: tuple[str, float]) -> None:
        shares.append(found[1])
        _tell(f"{found[0]}: {found[1]:.2g} of what the two may differ by")

    side_by_side(programs, work, jobs=len(available_cores()), stop=stop, on_end=on_end)
    _tell(f"{len(shares)} programs, {max(shares):.2g} at most")


def _kept_by_jax(folder: Path) -> dict[str, str]:
    """Return the variables by which JAX keeps what it compiles op by op: Vigil keeps nothing where a fault is planted."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _tell(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_steps", description=__doc__)
    actions = parser.add_subparsers(required=True, dest="action")
    measuring = actions.add_parser("measure", help="append clean rows")
    measuring.add_argument("programs", nargs="*", help="names in benchmarks/own_steps/programs/ (default: all)")
    measuring.add_argument("--seeds", default="0,1,2,3")
    measuring.add_argument("--precisions", default=",".join(PRECISIONS))
    measuring.add_argument("--modes", default=",".join(MODES))
    measuring.add_argument("--no-looks", action="store_true", help="only what steps compute, not what is inside")
    measuring.add_argument("--device", default="cpu", choices=DEVICES)
    measuring.add_argument("--jobs", type=int, default=len(available_cores()))
    checking = actions.add_parser("check", help="hold other batches to the limits, and count false alarms")
    checking.add_argument("programs", nargs="*", help="names in benchmarks/own_steps/programs/ (default: all)")
    checking.add_argument("--seeds", default="10,11,12,13,14,15,16,17")
    checking.add_argument("--precisions", default="fp32")
    checking.add_argument("--modes", default=",".join(MODES))
    checking.add_argument("--threads", default="1,2")
    checking.add_argument("--jobs", type=int, default=len(available_cores()))
    actions.add_parser("count", help="count false alarms, each program by limits of the others")
    planting = actions.add_parser("faults", help="plant faults, and print how many are caught and told with their origin")
    planting.add_argument("--framework", help="those of one framework alone")
    planting.add_argument("--mode", default="eager")
    planting.add_argument("--markdown", type=Path, help="write the page here")
    planting.add_argument("--jobs", type=int, default=len(available_cores()))
    actions.add_parser("derivatives", help="print how near gradients and central differences are, of what they may differ by")
    given = parser.parse_args()
    if given.action == "check":
        cells, alarms = check(
            [PROGRAMS / f"{name}.py" for name in given.programs] or PROGRAMS_OF_ALL,
            seeds=[int(seed) for seed in given.seeds.split(",")],
            precisions=given.precisions.split(","),
            modes=given.modes.split(","),
            threads=[int(count) for count in given.threads.split(",")],
            jobs=given.jobs,
        )
        print(f"{cells} cells, {len(alarms)} false alarms")
        raise SystemExit(bool(alarms))
    if given.action == "measure":
        files = [PROGRAMS / f"{name}.py" for name in given.programs] or PROGRAMS_OF_ALL
        measure(
            files,
            seeds=[int(seed) for seed in given.seeds.split(",")],
            precisions=given.precisions.split(","),
            modes=given.modes.split(","),
            device=given.device,
            has_looks=not given.no_looks,
            jobs=given.jobs,
        )
        return
    if given.action == "faults":
        plants = [each for each in PLANTS if each.program.startswith(given.framework or "")]
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= _kept_by_jax(Path(folder) / "compiled")
            found = detect(plants, PROGRAMS, Path(folder), step_limits(), mode=given.mode, jobs=given.jobs, tell=_tell)
        words = ["FILE" if word == str(given.markdown) else word for word in sys.argv[1:]]
        text = page(found, describe_machine(), command=f"python -m benchmarks.own_steps {shlex.join(words)}")
        print(text) if given.markdown is None else given.markdown.write_text(text, encoding="utf-8")
        return
    if given.action == "derivatives":
        with tempfile.TemporaryDirectory() as folder:
            derivatives(PROGRAMS_OF_ALL, Path(folder))
        return
    cells, alarms = count(clean_rows())
    print("\n".join([*alarms, f"{cells} cells (program, context, seed), {len(alarms)} false alarms"]))


if __name__ == "__main__":
    main()
