"""Clean rows of users' programs: how far programs of many shapes are from float64, in every context, where all is right."""

from __future__ import annotations

import fnmatch
import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from runners.contract.steps import frame
from vigil.documents.context import Context
from vigil.process.environment import describe_code
from vigil.steps.judge import differences_of, judge
from vigil.steps.processes import Asked, Ended, run
from vigil.steps.verify import Setting, settings_of
from vigil.verify.distance import Difference
from vigil.verify.limits import Limits, summary_row

# What is really wrong in a released framework, and where: no clean row of these families.
_BIAS = "docs/findings/xla_cpu_low_precision_bias_gradient.py"
_ROWS = "docs/findings/keras_adam_repeated_rows.py"
NOT_CLEAN = (
    ("tensorflow_encoder", "tensorflow-*", ("params", "optimizer"), _ROWS),
    ("tensorflow_depthwise", "tensorflow-*", ("params", "optimizer"), _ROWS),
    ("jax_convnet", "jax-*-bf16-*", ("gradients", "backward"), _BIAS),
    ("jax_convnet", "jax-*-fp16-*", ("gradients", "backward"), _BIAS),
    (
        "torch_convnet",
        "torch-compile-*",
        ("gradients", "backward", "loss", "stats"),
        "docs/findings/torch_compile_average_pooling_ceil.py",
    ),
)
REPEATS = 2  # of a step on one thread, which has the same bits each time: 60 would take longer than all else
MODES, PRECISIONS = ("eager", "jit", "compile"), ("fp32", "bf16", "fp16")


class Cell(NamedTuple):
    """A program in a context on one batch: how far all that it answered is from float64."""

    setting: Setting
    seed: int
    ended: Ended
    differences: list[Difference]


def cells_of_program(
    asked: Asked, directory: Path, *, seeds: Sequence[int], settings: Sequence[Setting], looks: bool, cores: list[int]
) -> Iterator[Cell]:
    """Yield the cells of a program in the settings of one precision; remove what was written."""
    precision = settings[0].context.precision
    places = [directory / f"oracle-{looks}" / str(seed) if len(seeds) > 1 else directory / f"oracle-{looks}" for seed in seeds]
    oracle = run(asked, directory / f"oracle-{looks}", task="oracle", precision=precision, seeds=seeds, looks=looks, cores=cores)
    _require(oracle)
    contexts: dict[Setting, Ended] = {}
    for setting in settings:
        ended = run(
            asked, directory / f"{setting.directory}-{looks}", task="context", mode=setting.context.mode, precision=precision,
            device=setting.context.device, threads=setting.threads, looks=looks, expected=places, cores=cores,
        )  # fmt: skip
        if ended.failure:
            print(f"{asked.file.stem} {setting.text}: {ended.failure.category}: {ended.failure.message}", flush=True)
            continue
        contexts[setting] = ended
    answered = {(setting, seed): _place(ended.directory, seed, seeds) for setting, ended in contexts.items() for seed in seeds}
    if not looks and answered:
        _require(
            run(asked, directory / "updates", task="updates", precision=precision, expected=list(answered.values()), cores=cores)
        )
    for (setting, seed), place in answered.items():
        floors = _read(places[list(seeds).index(seed)] / frame.FLOORS)["floors"]
        updates = _read(place / frame.UPDATES) if not looks else {}
        yield Cell(setting, seed, contexts[setting], differences_of(_read(place / frame.ANSWERS), floors, updates))
    shutil.rmtree(directory)


def rows_of_program(
    asked: Asked,
    directory: Path,
    *,
    seeds: Sequence[int],
    modes: Sequence[str],
    precision: str,
    device: str,
    looks: bool,
    cores: list[int],
) -> Iterator[dict[str, Any]]:
    """Yield the clean rows of a program in one precision: one for each context, seed and case; remove what was written."""
    settings = settings_of(asked.framework, modes, [precision], [1], device=device)
    for cell in cells_of_program(asked, directory, seeds=seeds, settings=settings, looks=looks, cores=cores):
        ordered = sorted(cell.differences, key=lambda each: each.case)
        for case, of_case in itertools.groupby(ordered, key=lambda each: each.case):
            yield _row(asked, cell.setting.context, cell.ended, seed=cell.seed, case=case, differences=list(of_case))


def alarms_of_program(
    asked: Asked, directory: Path, *, seeds: Sequence[int], settings: Sequence[Setting], limits: Limits, cores: list[int]
) -> tuple[int, list[str]]:
    """Return how many cells of a program were judged as users' are, and what is beyond its limit in them."""
    count, alarms = 0, []
    for cell in cells_of_program(asked, directory, seeds=seeds, settings=settings, looks=False, cores=cores):
        count += 1
        known = not_clean(asked.file.stem, cell.setting.context)
        for one in judge(cell.differences, limits, cell.setting.context.precision):
            if one.score > 1.0 and one.difference.family not in known:
                place = f"{asked.file.stem} seed {cell.seed} {cell.setting.text}"
                alarms.append(f"{place}: {one.difference.case} {one.difference.tensor} at {one.score:.2f} of its limit")
    return count, alarms


def _row(asked: Asked, context: Context, ended: Ended, *, seed: int, case: str, differences: list) -> dict[str, Any]:
    problems = [each for each in differences if each.problem]
    if problems:
        raise SystemExit(f"{asked.file.stem} {context}: {case} {problems[0].tensor}: {problems[0].problem}")
    code = describe_code()
    findings = not_clean(asked.file.stem, context)
    return summary_row(
        differences,
        **({"not_clean": findings} if findings else {}),
        program=asked.file.stem,
        context=context.text,
        precision=context.precision,
        seed=f"{asked.file.stem}/{seed}",
        case=case,
        framework_version=ended.environment["framework_version"],
        hardware=ended.environment["hardware"],
        cpu_flags=ended.environment["cpu_flags"],
        **({"gpu": ended.environment["gpu"]} if context.device == "gpu" else {}),
        commit=code.commit,
        dirty=code.dirty,
        date=f"{datetime.now(timezone.utc):%Y-%m-%d}",
    )


def not_clean(program: str, context: Context) -> dict[str, str]:
    """Return the families of a program's tensors that a released framework gets wrong in a context, and what shows it."""
    return {
        family: evidence
        for name, pattern, families, evidence in NOT_CLEAN
        if name == program and fnmatch.fnmatchcase(context.text, pattern)
        for family in families
    }


def _place(directory: Path, seed: int, seeds: Sequence[int]) -> Path:
    return directory / str(seed) if len(seeds) > 1 else directory


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _require(ended: Ended) -> None:
    if ended.failure:
        raise SystemExit(f"{ended.directory}: {ended.failure.category}: {ended.failure.message}")
