"""`python -m benchmarks.own_operators`: what limits of users' operators are made of, and how often a correct one passes them.

`measure` tries operators that are written twice, and appends a row for each precision to reference_results/own_operators/verify/;
`count` says how many are above limits made from the others.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from runners.contract.operators import frame
from runners.contract.operators.request import OPTION, OperatorRequest
from vigil.digests import append_listed, read_listed
from vigil.frameworks import FRAMEWORKS
from vigil.operators.limits import DRAWS, FAMILIES, NAME, limit_of, limits_of, reach
from vigil.paths import project_root, reference_directory
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.environment import describe_code
from vigil.process.side_by_side import available_cores, side_by_side
from vigil.steps.processes import Asked, carried_out
from vigil.steps.verify import PRECISIONS, asked_of, framework_of

# Without examples/operator_triton.py, whose inputs lie at kinks.
PROGRAMS = [
    *sorted((Path(__file__).parent / "programs").glob("*_*.py")),
    *(project_root() / "examples" / f"operator_{framework}.py" for framework in FRAMEWORKS),
]
_SEEDS, _CALLS = 16, 2
_NO_LIMIT = 1e6  # so that whatever an operator does is measured, and nothing is told apart


def clean_folder() -> Path:
    """Return where clean rows are kept."""
    return reference_directory() / NAME / "verify"


def clean_rows() -> list[dict[str, Any]]:
    """Return every clean row."""
    contents = read_listed(clean_folder(), "clean-*.jsonl").values()
    return [json.loads(line) for content in contents for line in content.splitlines()]


def rows_of(asked: Asked, *, mode: str, cores: list[int]) -> list[dict[str, Any]]:
    """Return the rows of an operator, one for each precision: its largest distance, in floors, of each family of tensors."""
    with tempfile.TemporaryDirectory() as folder:
        request = OperatorRequest(
            framework=asked.framework, file=str(asked.file), file_sha256=asked.sha256, mode=mode, threads=1, cores=tuple(cores),
            precisions=PRECISIONS, seeds=_SEEDS, draws=DRAWS, repeats=_CALLS,
            limits={precision: dict.fromkeys(FAMILIES, _NO_LIMIT) for precision in PRECISIONS},
            reach=reach(), fault=None, heartbeat_seconds=HEARTBEAT_SECONDS,
        )  # fmt: skip
        ended = carried_out(asked, Path(folder) / "run", request, option=OPTION)
        if ended.failure:
            raise SystemExit(f"{asked.file.name}: {ended.failure.category}: {ended.failure.message}")
        answers = ended.read(frame.ANSWERS)
    code = describe_code()
    rows = []
    for precision in answers["precisions"]:
        results = [each for each in answers["results"] if each["trial"]["precision"] == precision]
        judged = [each for each in results if each["kind"] == frame.FINE]
        largest: dict[str, float] = {}
        for result in judged:
            for tensor, (ratio, limit) in result["measured"].items():
                family = tensor.split("/")[0]
                largest[family] = max(largest.get(family, 0.0), float(ratio) / (float(limit) / _NO_LIMIT))
        others = sorted({f"{each['kind']}: {each.get('message', each.get('tensor'))}" for each in results if each not in judged})
        said = f"{asked.file.stem} {mode} {precision}: {len(judged)} of {len(results)} inputs, {largest}"
        print(said, *others, sep="\n  ", flush=True)
        rows.append(
            {
                "program": asked.file.stem, "context": f"{asked.framework}-{mode}-{precision}-x1", "case": "operator",
                "precision": precision, "inputs": len(judged), "largest": largest,
                "framework_version": ended.environment["framework_version"], "hardware": ended.environment["hardware"],
                "cpu_flags": ended.environment["cpu_flags"], "commit": code.commit, "dirty": code.dirty,
                "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
            }
        )  # fmt: skip
    return rows


def measure(programs: Sequence[Path], *, modes: Sequence[str], jobs: int) -> None:
    """Measure operators and append their rows, an operator and mode at a time."""
    items, stop = [(file, mode) for file in programs for mode in modes], threading.Event()

    def work(item: tuple[Path, str], cores: list[int] | None) -> tuple[str, list[dict[str, Any]]]:
        file, mode = item
        framework = framework_of(file)
        return framework, rows_of(asked_of(file, framework, stop=stop), mode=mode, cores=cores or available_cores())

    def on_end(done: int, result: tuple[str, list[dict[str, Any]]]) -> None:
        framework, rows = result
        clean_folder().mkdir(parents=True, exist_ok=True)
        append_listed(clean_folder() / f"clean-{framework}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        print(f"[{done}/{len(items)}]", flush=True)

    side_by_side(items, work, jobs=jobs, stop=stop, on_end=on_end)


def count() -> int:
    """Say how many operators, in a precision, are above limits that are made from the others; return how many."""
    rows = clean_rows()
    above, cells = [], 0
    for program in sorted({row["program"] for row in rows}):
        others = limits_of(row for row in rows if row["program"] != program)
        for row in (row for row in rows if row["program"] == program):
            cells += 1
            for family, value in row["largest"].items():
                limit = limit_of(others, row["precision"], family)
                above += [f"{row['context']}, {program}: {family} {value:.2f} of {limit:.2f} floors"] if value > limit else []
    inputs = sum(row["inputs"] for row in rows)
    print(f"{len(above)} false alarms in {cells} cells of operator and context, {inputs:,} sets of inputs", *above, sep="\n  ")
    return len(above)


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_operators", description=__doc__)
    parser.add_argument("what", choices=("measure", "count"))
    parser.add_argument("--program", help="one of them, by its name")
    parser.add_argument("--mode", default="eager", help="eager, jit, compile, with commas between")
    parser.add_argument("--jobs", type=int, default=len(available_cores()))
    arguments = parser.parse_args()
    if arguments.what == "count":
        return int(count() > 0)
    programs = [file for file in PROGRAMS if arguments.program in (None, file.stem)]
    measure(programs, modes=arguments.mode.split(","), jobs=arguments.jobs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
