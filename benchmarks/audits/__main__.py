"""`python -m benchmarks.audits`: what limits of audits are made of, how often a correct call passes them, and what an audit sees.

`measure` audits a framework with seeds and appends a row for each to reference_results/audit/; a call that is farther from what
is right than any rounding must be a known finding first. `record` makes known findings of an audit that somebody has looked
through: an entry and a script for each operator. `spread` says how many calls of each audit are above limits that are
made from the others. `mutants` plants defects in every call and counts how many are seen.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import tempfile
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from runners.contract.audit.frame import write_questions
from runners.contract.audit.mutants import MUTANTS
from runners.contract.audit.request import OPTION, AuditRequest
from vigil.audit.definitions import catalog
from vigil.audit.entry import PRECISIONS, Entry
from vigil.audit.exact import exact_of
from vigil.audit.judge import measure
from vigil.audit.known import FILE_NAME, known_calls
from vigil.audit.limits import (
    LARGEST,
    MARGIN,
    NAME,
    NO_LIMITS,
    audit_limits,
    clean_audits,
    clean_folder,
    key_of,
    limits_of,
    most_of,
)
from vigil.audit.plan import ANY, EMPTY, EQUAL, GIVEN, LAYOUTS, PLAIN, SMOOTH, Trial, plan
from vigil.audit.sweep import USUAL_MODES, Extent, answers_of, audit, read_answers
from vigil.digests import append_listed, replace_listed
from vigil.documents.audit import Audit, AuditFinding
from vigil.frameworks import FRAMEWORKS
from vigil.paths import project_root, reference_directory
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.environment import describe_code
from vigil.process.side_by_side import available_cores, side_by_side
from vigil.steps.processes import Started, carried_out

# So many floors, a thousandth of a number in float32, are no loss of accuracy: how far off it is depends on arguments alone.
_WRONG = 1e4
# In float64 that is farther than numbers of float32 are, one rounding of which is 2^29 of float64's: of 256 distances of an audit
# of TensorFlow 2.21.0 in float64 none is between 2.0e5 floors and 4.6e9 (seed 0, AMD EPYC, 2026-11-26).
_NO_FLOAT32 = 2.0**29
# What is asked apart is recorded apart: values of a form, and how its entries are named.
_APART = {EQUAL: "_of_equal_numbers", EMPTY: "_of_empty_arrays"}
# Defects of a call's arguments: where the definition does not change either, as a sum does not with the order, there is none.
_OF_ARGUMENTS = ("shifted", "axis", "term", "unmasked")


def measure_rows(
    framework: str, *, mode: str, seeds: Sequence[int], entries: Sequence[Entry], is_quick: bool, precisions: Sequence[str] = ()
) -> int:
    """Audit with each seed and append its row; return how many audits were not clean."""
    known, refused = known_calls(), 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            extent = Extent(entries=entries, modes=[mode], seed=seed, is_quick=is_quick, precisions=precisions)
            found = audit(Started(framework=framework), extent, Path(folder) / "audit", NO_LIMITS, known, command="measure",
                          jobs=len(available_cores()))  # fmt: skip
        new = [each for each in found.findings if each.known is None and each.kind != "raises"]
        for each in new:
            what = f"{each.kind} {each.way or each.operator} {each.quantity} {each.smallest.text}"
            print(f"  {what}: {each.ratio} {each.problem}")
        failed = [each.failure for each in found.processes if each.failure]
        print(f"{framework} {mode} seed {seed}: {len(new)} not clean, {len(failed)} failed, {found.ways} calls", flush=True)
        if new or failed:
            refused += 1
            continue
        _append_row(found)
    return refused


def _append_row(found: Audit) -> None:
    """Append the row of an audit: what was farther off than any rounding is in none, and keeps the widest limit."""
    code, here = describe_code(), found.processes[0].environment
    worst = {operator: dict(keys) for operator, keys in found.worst.items()}
    for each in filter(_is_rounding, found.findings):
        of, key = worst.setdefault(each.operator, {}), key_of(str(each.quantity), each.precision)
        of[key] = max(of.get(key, 0.0), round(float(each.ratio or 0.0), 3))
    near = {
        operator: kept
        for operator, keys in worst.items()
        if (kept := {key: ratio for key, ratio in keys.items() if ratio <= _largest(key.rpartition(" ")[2])})
    }
    row = {
        "framework": found.framework, "framework_version": found.framework_version, "mode": found.modes[0], "seed": found.seed,
        "is_quick": found.is_quick, "forms": found.forms, "operators": near, "hardware": here["hardware"],
        "cpu_flags": here["cpu_flags"], "commit": code.commit, "dirty": code.dirty,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
    }  # fmt: skip
    path = clean_folder() / f"clean-{found.framework}-{found.modes[0]}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    append_listed(path, json.dumps(row) + "\n")


def _is_rounding(finding: AuditFinding) -> bool:
    """Is it no farther off than a clean row may be, and new?"""
    near = finding.ratio is not None and finding.ratio <= _largest(str(finding.precision))
    return finding.kind == "wrong" and finding.known is None and not finding.problem and near


def _largest(precision: str) -> float:
    """Return how many floors a row may tell of, which no limit is below."""
    return min(LARGEST, most_of(precision))


def _is_float32(finding: AuditFinding) -> bool:
    """Is it a number of float32, or next to one, where float64 was asked for?"""
    near = finding.ratio is not None and finding.ratio < _NO_FLOAT32
    return finding.kind == "wrong" and finding.precision == "fp64" and near and not finding.problem


def record(folder: Path) -> None:
    """Add the new findings of an audit to the list of known ones, their scripts to docs/findings/audit/seen/, and its row.

    What is above its limit, but not farther off than rounding may be, is no finding: the row widens the limit. Numbers of float32
    in float64 are a finding of their own, whose distance is bounded: one without a bound would explain whatever comes.
    """
    found = Audit.read(folder)
    groups: dict[tuple[str, str, bool, str], list[AuditFinding]] = {}
    for each in found.findings:
        if each.known is None and each.kind != "died" and not _is_rounding(each):
            # They come last: what shows with other numbers shows there first.
            values = EQUAL if each.smallest.values in (EQUAL, SMOOTH) else each.smallest.values
            # Memory that nobody wrote may be what it was the call before.
            kind = "wrong" if (each.kind, values) == ("bits", EMPTY) else each.kind
            groups.setdefault((each.operator, kind, _is_float32(each), values if values in _APART else ""), []).append(each)
    path = reference_directory() / NAME / FILE_NAME
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_bytes()) or []
    for (operator, kind, is_float32, values), group in sorted(groups.items()):
        name = f"{found.framework}_{operator}" + ("" if kind == "wrong" else f"_{kind}") + ("_float64" if is_float32 else "")
        name += _APART.get(values, "")
        script = next((each.script for each in group if each.script), None)
        evidence = f"vigil audit {operator} --framework {found.framework}"
        if script:
            evidence = f"docs/findings/audit/seen/{name}.py"
            if not (project_root() / evidence).exists():  # one that is there shows it, and may have its releases on record
                (project_root() / evidence).parent.mkdir(parents=True, exist_ok=True)
                (project_root() / evidence).write_text((folder / script).read_text(encoding="utf-8"), encoding="utf-8")
        ratios = [each.ratio for each in group if each.ratio is not None and math.isfinite(each.ratio) and not each.problem]
        entry = {
            "name": name, "frameworks": [found.framework], "releases": [str(found.framework_version).split("+")[0] + "*"],
            "operators": [operator], "ways": sorted({each.way or "" for each in group}),
            "kinds": sorted({each.kind for each in group}), "modes": sorted({each.mode for each in group}), "evidence": evidence,
        }  # fmt: skip
        if kind == "wrong":
            if not is_float32:  # a constant of float32 shows in values with one seed, and in a derivative with another
                entry["quantities"] = sorted({each.quantity.partition("/")[0] + "/*" for each in group if each.quantity})
            entry["precisions"] = sorted({each.precision for each in group})
            if len(ratios) == len(group) and (is_float32 or max(ratios) < _WRONG):
                entry["most"] = float(f"{MARGIN * max(ratios):.3g}")
        if forms := [f"*, {values}"] if values else forms_of(group):
            entry["forms"] = forms
        entries = _with_entry(entries, entry)
    head = path.read_text(encoding="utf-8").splitlines()[0]
    text = yaml.safe_dump(entries, sort_keys=False, width=130, allow_unicode=True)
    replace_listed(path, f"{head}\n{text}".encode())
    _append_row(found)
    print(f"{len(groups)} findings recorded, {len(entries)} in all")


def forms_of(group: Sequence[AuditFinding]) -> list[str]:
    """Return patterns of the forms of findings, where all are of a layout alone or of numbers that are none; else nothing.

    The smallest form is told of each: in fp32 layouts come last, and before them NaN and infinities, so that what shows in one
    form alone of these shows in no plain one.
    """
    forms: set[str] = set()
    for each in group:
        if each.precision != "fp32":
            return []
        at, is_one = each.smallest, each.count == 1
        if (at.layout, at.values) == (PLAIN, GIVEN) or at.layout not in (PLAIN, *LAYOUTS):
            return []
        first = ANY if at.values == ANY else at.layout
        forms |= {first} if is_one else {*LAYOUTS, first}
    return [f"*, {name}" for name in sorted(forms)]


def _with_entry(entries: list[dict[str, Any]], entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries with one more; what an entry of its name lacks is added to that, with the larger distance of the two."""
    before = next((each for each in entries if each["name"] == entry["name"]), None)
    if before is None:
        return [*entries, entry]
    lists = ("releases", "ways", "modes", "quantities", "precisions")
    merged = before | {key: sorted({*before.get(key, ()), *entry[key]}) for key in lists if key in entry}
    if "most" in before and "most" in entry:
        merged["most"] = max(before["most"], entry["most"])
    else:
        merged.pop("most", None)
    if "forms" in before and "forms" in entry:
        merged["forms"] = sorted({*before["forms"], *entry["forms"]})
    else:
        merged.pop("forms", None)
    return [merged if each is before else each for each in entries]


def spread() -> int:
    """Say how many tensors of each audit are above limits that are made from the others; return how many."""
    rows = [row for rows in clean_audits().values() for row in rows]
    above, cells, farthest = [], 0, 0.0
    for row in rows:
        others = limits_of(each for each in rows if each is not row)
        for operator, keys in row["operators"].items():
            for key, ratio in keys.items():
                quantity, precision = key.split()
                limit = others.of(operator, quantity, precision)
                cells += 1
                farthest = max(farthest, ratio / limit)
                if ratio > limit:
                    where = f"{row['framework']} {row['mode']} seed {row['seed']}"
                    above.append(f"{where}: {operator} {key} {ratio:.3g} of {limit:.3g}")
    print(f"{len(above)} above their limits of {cells:,} in {len(rows)} audits; the farthest at {farthest:.2g} of its limit")
    print(*above, sep="\n")
    return len(above)


def _asked(entry: Entry) -> list[Trial]:
    """Return what mutants are asked: the least sizes, one that no vector divides, and one beyond a thousand."""
    found = plan(entry, is_quick=True)
    return [each for each in found if each.values == GIVEN and each.parameters == entry.parameters[0]][:4] or found[:1]


def _is_one(trial: Trial, mutant: str, seed: int) -> bool:
    """Does the definition itself change by a defect of its arguments?"""
    if mutant not in _OF_ARGUMENTS:
        return True
    arguments, parameters = trial.arguments(seed), dict(trial.parameters)
    changed = dict(arguments)
    for name, array in arguments.items():
        if mutant == "unmasked" and array.dtype.kind == "b":
            changed[name] = np.ones_like(array)
        elif mutant in ("shifted", "term") and array.dtype.kind == "f" and array.ndim:
            changed[name] = (
                np.roll(array, 1, -1) if mutant == "shifted" else array * (np.arange(array.shape[-1]) < array.shape[-1] - 1)
            )
            break
    if mutant == "axis" and "axis" in parameters:
        parameters["axis"] = 0 if parameters["axis"] in (-1, 1) else -1
    try:
        pairs = zip(trial.entry.evaluate(arguments, trial.parameters), trial.entry.evaluate(changed, parameters), strict=True)
        return any(
            one.shape != other.shape or not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True) for one, other in pairs
        )
    except (ValueError, IndexError):
        return True


def _planted_in(precision: str) -> list[str]:
    """Return the defects that a precision could show: a thousandth is none in low precision, nor is a sum in bfloat16 there."""
    return [each for each in MUTANTS if precision in ("fp32", "fp64") or each not in ("scaled", "bfloat16")]


# Of a planted defect: operator, call, mutant, and whether it was seen.
_Planted = tuple[str, str, str, bool]


def mutants(framework: str, *, mode: str, seed: int, entries: Sequence[Entry], precision: str = "fp32") -> list[_Planted]:
    """Return every mutant that changes what the call should give; families are asked side by side, and told as they end."""
    families: dict[str, list[Trial]] = {}
    for entry in entries:
        if "fp32" in entry.precisions and precision in ("fp32", *entry.precisions):
            families.setdefault(entry.family, []).extend(each._replace(precision=precision) for each in _asked(entry))

    def work(family: str, cores: list[int] | None) -> tuple[str, list[_Planted]]:
        return family, _mutants_of(framework, family, families[family], mode=mode, seed=seed, cores=cores)

    def on_end(done: int, result: tuple[str, list[_Planted]]) -> None:
        family, found = result
        print(f"[{done}/{len(families)}] {family}: {sum(each[3] for each in found):,} of {len(found):,}", flush=True)

    jobs = len(available_cores())
    answered = side_by_side(list(families), work, jobs=jobs, stop=threading.Event(), on_end=on_end)
    return [each for _, found in answered for each in found]


def _mutants_of(
    framework: str, family: str, trials: Sequence[Trial], *, mode: str, seed: int, cores: list[int] | None
) -> list[_Planted]:
    limits = audit_limits()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        questions = {trial.id: trial.question(seed) for trial in trials}
        write_questions(directory, family, list(questions.values()))
        request = AuditRequest(
            framework=framework, mode=mode, threads=1, cores=tuple(cores) if cores else None, families=(family,), skipped=(),
            ways=("*",), tells_names=False, is_wide=False, mutants=tuple(_planted_in(trials[0].precision)), fault=None,
            heartbeat_seconds=HEARTBEAT_SECONDS,
        )  # fmt: skip
        ended = carried_out(Started(framework=framework), directory, request, option=OPTION)
        if not answers_of(directory, family).exists():
            raise SystemExit(f"{framework} {family}: {ended.failure}")
        answers = read_answers(directory, family)
    seen: dict[tuple[str, str, str], bool] = {}
    for trial in trials:
        exact = exact_of(trial, questions[trial.id], seed)
        for told, arrays in answers.get(trial.id, []):
            key = trial.entry.name, told["way"], told["mutant"]
            if not _is_one(trial, told["mutant"], seed):
                continue
            held = exact.without_gradients() if told.get("no_gradient") else exact
            out = any(
                not measured.ratio <= limits.of(trial.entry.name, quantity, trial.precision)
                for quantity, measured in measure(questions[trial.id], held, arrays).items()
            )
            seen[key] = seen.get(key, False) or out
    return [(*key, is_seen) for key, is_seen in seen.items()]


def _table(found: Sequence[_Planted]) -> None:
    counts = collections.Counter((mutant, is_seen) for _, _, mutant, is_seen in found)
    for mutant in MUTANTS:
        total = counts[mutant, True] + counts[mutant, False]
        if total:
            print(f"| {mutant} | {counts[mutant, True]:,} of {total:,} | {counts[mutant, True] / total:.1%} |")
    total, caught = len(found), sum(each[3] for each in found)
    print(f"| all | {caught:,} of {total:,} | {caught / max(total, 1):.1%} |")
    print("survivors:", *sorted({f"{operator} {mutant}" for operator, _, mutant, is_seen in found if not is_seen}), sep="\n  ")


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audits", description=__doc__)
    parser.add_argument("what", choices=("measure", "record", "spread", "mutants"))
    parser.add_argument("folder", nargs="?", type=Path, help="of an audit, for record")
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--mode", help="eager, jit or compile (default: as the framework is used)")
    parser.add_argument("--seeds", default="0", help="numbers with commas between")
    parser.add_argument("--quick", action="store_true", help="measure the quick form")
    parser.add_argument("--family", help="one of them")
    parser.add_argument("--precision", help="measure some of them, with commas between; of mutants: one")
    arguments = parser.parse_args()
    if arguments.what == "spread":
        return int(spread() > 0)
    if arguments.what == "record":
        if arguments.folder is None:
            parser.error("record: the folder of an audit is missing")
        record(arguments.folder)
        return 0
    if arguments.framework is None:
        parser.error("--framework is missing")
    mode = arguments.mode or USUAL_MODES[arguments.framework]
    entries = [entry for entry in catalog().values() if arguments.family in (None, entry.family)]
    seeds = [int(each) for each in arguments.seeds.split(",")]
    if arguments.what == "measure":
        precisions = arguments.precision.split(",") if arguments.precision else ()
        return int(
            measure_rows(
                arguments.framework, mode=mode, seeds=seeds, entries=entries, is_quick=arguments.quick, precisions=precisions
            )
            > 0
        )
    precision = arguments.precision or "fp32"
    if precision not in PRECISIONS:
        parser.error(f"--precision: mutants are planted in one precision. Found: {precision}. Allowed: {', '.join(PRECISIONS)}.")
    _table(mutants(arguments.framework, mode=mode, seed=seeds[0], entries=entries, precision=precision))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
