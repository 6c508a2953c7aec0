"""Files that verdicts rest on, damaged at random: does a verdict ever change without a word?

    python -m benchmarks.damage --count 2000 --seed 0

Each time one file is flipped, cut or lost, in a copy of reference_results/ and of an invocation's directory. Then the readers and
judges are called that stand on it, in this process. `refused`: one of them says so in words that name the file, or its list.
`no effect`: what they give is what they gave before. Anything else is an error of Vigil's: a verdict that changed in silence, a
traceback, words that name no file.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from runners.contract.arrays import digest_of_arrays
from runners.contract.data import instances
from runners.contract.kinds import detections
from runners.contract.protocol.checkpoint import CHECKPOINT, load_state, save_state
from runners.contract.protocol.events import FILE_NAME as EVENTS
from runners.contract.protocol.events import EventWriter, read_events
from runners.contract.protocol.spec import write_spec
from vigil.audit.known import FILE_NAME as KNOWN_CALLS
from vigil.audit.known import known_calls
from vigil.audit.limits import NAME as NAME_OF_AUDITS
from vigil.audit.limits import audit_limits
from vigil.cli.main import Parser
from vigil.cli.options import whole_number
from vigil.data.coco.recorded_detections import read_recorded
from vigil.digests import FILE_NAME as LIST
from vigil.digests import digest_of
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.judgement import Metric
from vigil.documents.night import Night, read_nights
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.errors import CannotRun, VigilError
from vigil.nightly.night_file import create_night
from vigil.paths import project_root, reference_directory
from vigil.process.build_spec import build_spec
from vigil.process.execute import Ending
from vigil.process.recording import make_record, read_record, require_whole, spec_of
from vigil.recipes.loading import identity_of, load_recipe
from vigil.references.judge import judge
from vigil.references.samples import load_samples, newest_checksum
from vigil.references.supersede import supersede
from vigil.runs import carry_out
from vigil.runs.plan import Request, plan
from vigil.verify.golden import load_golden, path_of
from vigil.verify.known_findings import load_known
from vigil.verify.limits import load_limits

RECIPE, PROFILE = "digits_mlp", "smoke"
REFUSED, SAME, CHANGED, TRACEBACK, NAMELESS = "refused", "no effect", "changed in silence", "traceback", "file not named"
OUTCOMES = (REFUSED, SAME, CHANGED, TRACEBACK, NAMELESS)
SAMPLE = "tests/verify/documents/reproduced.json"

Answer = Callable[[], Any]
_recipe = functools.cache(load_recipe)


def main(arguments: Sequence[str] | None = None) -> int:
    """Damage files, print the table, and return 1 if any damage was met without a word."""
    parser = Parser(prog="python -m benchmarks.damage", description="Damage files that verdicts rest on, at random.")
    parser.add_argument("--count", default="2000", metavar="N", help="damages (default: 2000)")
    parser.add_argument("--seed", default="0", metavar="N", help="of what is drawn (default: 0)")
    given = parser.parse_args(arguments)
    count, seed = whole_number("--count", given.count, least=1), whole_number("--seed", given.seed, least=0)
    found = try_damages(count=count, seed=seed, tell=lambda line: print(line, file=sys.stderr, flush=True))
    print(*table(found), sep="\n")
    return 1 if any(found[kind, outcome] for kind, outcome in found if outcome not in (REFUSED, SAME)) else 0


def try_damages(*, count: int, seed: int, tell: Callable[[str], None]) -> collections.Counter[tuple[str, str]]:
    """Return how often each (kind of file, outcome) was met; tell of each that is an error."""
    draws = random.Random(seed)
    found: collections.Counter[tuple[str, str]] = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="vigil-damage-") as folder:
        files = lay_out(Path(folder))
        # Of an empty file nothing can be damaged: some folders list none of their own.
        paths, before = sorted(path for path in files if path.stat().st_size), functools.cache(lambda path: files[path]())
        for number in range(count):
            path = draws.choice(paths)
            whole = path.read_bytes()
            what = damage(path, draws)
            try:
                outcome, words = outcome_of(path, files[path], sound=lambda path=path: before(path), whole=whole)
            finally:
                path.write_bytes(whole)
            found[kind_of(path), outcome] += 1
            if outcome not in (REFUSED, SAME):
                tell(f"{number}: {path.relative_to(folder)}, {what}: {outcome}: {words}")
    return found


def outcome_of(path: Path, answer: Answer, *, sound: Answer, whole: bytes) -> tuple[str, str]:
    """Return what became of a damage, and what was said."""
    damaged = path.read_bytes() if path.exists() else None
    try:
        now = answer()
    except VigilError as error:
        is_named = str(path.parent) in str(error) and any(name in str(error) for name in (path.name, LIST))
        return (REFUSED if is_named else NAMELESS), str(error)
    except Exception as error:
        return TRACEBACK, repr(error)
    path.write_bytes(whole)
    is_same = now == sound()
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    return (SAME if is_same else CHANGED), repr(now)[:200]


def damage(path: Path, draws: random.Random) -> str:
    """Flip bits of a file, cut it off, or remove it; return what was done."""
    content, how = bytearray(path.read_bytes()), draws.choice(("flip", "flip", "cut", "cut at a line", "loss"))
    if how == "loss":
        path.unlink()
        return how
    if how == "flip":
        places = [draws.randrange(len(content)) for _ in range(draws.choice((1, 1, 8)))]
        for place in places:
            content[place] ^= 1 << draws.randrange(8)
        path.write_bytes(content)
        return f"{len(places)} bits flipped, the first at byte {places[0]}"
    ends = [found.end() for found in re.finditer(b"\n", content[:-1])]
    kept = draws.choice(ends) if ends and how == "cut at a line" else draws.randrange(len(content))
    path.write_bytes(content[:kept])
    return f"cut after {kept} bytes"


def _audits(folder: Path) -> Any:
    """Return what the verdict on an audit stands on: limits, and known findings."""
    return audit_limits(folder / "verify"), known_calls(folder / KNOWN_CALLS)


def lay_out(root: Path) -> dict[Path, Answer]:
    """Copy or make every file that a verdict rests on below a folder; return of each what stands on it."""
    references = root / reference_directory().name
    shutil.copytree(reference_directory(), references)
    # None is committed: one recipe's samples of one framework are superseded in the copy.
    supersede(references, _recipe(RECIPE), profile="quick", framework="jax", reason="Superseded to have an entry to damage")
    files: dict[Path, Answer] = {}
    for path in (path for path in references.rglob("*") if path.is_file()):
        if path.parent == references:
            files[path] = functools.partial(load_known, references / "known_findings.yaml")
        elif NAME_OF_AUDITS in path.relative_to(references).parts:
            files[path] = functools.partial(_audits, references / NAME_OF_AUDITS)
        elif path.parent.name == "verify":
            readers = [reader for name, reader in (("clean", _limits), ("golden", _tapes)) if path.name.startswith((name, LIST))]
            files[path] = functools.partial(_step_standard, references, path.parent.parent.name, readers)
        else:
            files[path] = functools.partial(_bands, references, path.parent.name)
    invocation = _make_invocation(root / "runs", references)
    names = ("record.json", "spec.json", "events.jsonl")
    for name in ("invocation.json", *(f"seed{seed}/{name}" for seed in (1, 2) for name in names)):
        files[invocation / name] = functools.partial(_resumed, invocation, references)
    killed, ended = _make_detector_runs(root / "runs" / "detector")
    for name in ("events.jsonl", "checkpoint.npz", "detections-2.npz", "spec.json"):
        files[killed / name] = functools.partial(_gone_on_with, killed)
    for name in ("detections.npz", "record.json", "spec.json"):
        files[ended / name] = functools.partial(_detections, ended)
    verification = root / "runs" / "verification"
    verification.mkdir()
    path = Verification.parse((project_root() / SAMPLE).read_bytes(), where=SAMPLE).write(verification)
    files[path] = functools.partial(_verification, verification)
    nights = root / "runs" / "nights"
    night = create_night(
        nights, number=1, when=datetime(2026, 11, 23, tzinfo=timezone.utc), command="vigil nightly", profile=PROFILE,
        budget_seconds=60.0, jobs=1, seeds=(0,), recipes={}, releases={}, covered=0, standing=(), cells=(),
    )  # fmt: skip
    files[night.directory / Night.FILE_NAME] = functools.partial(_nights, nights)
    return files


def kind_of(path: Path) -> str:
    """Return what a file is, as the table has it."""
    kinds = {
        LIST: f"`{LIST}`", "clean": "clean rows", "golden": "golden tapes", "known_findings": "known findings",
        "superseded": "superseding entries", "quick": "reference rows", "smoke": "reference rows",
        "detections": "`detections*.npz`",
    }  # fmt: skip
    return kinds.get(path.name.partition(".")[0].partition("-")[0], f"`{path.name}`")


def table(found: collections.Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| file | damages | {' | '.join(OUTCOMES)} |"
    yield f"|---|---|{'---|' * len(OUTCOMES)}"
    kinds = sorted({kind for kind, _ in found}, key=lambda kind: (kind.startswith("`"), kind))
    for name, some in [*((kind, [kind]) for kind in kinds), ("all", kinds)]:
        counts = [sum(found[kind, outcome] for kind in some) for outcome in OUTCOMES]
        yield f"| {name} | {sum(counts)} | {' | '.join(map(str, counts))} |"


def _bands(references: Path, name: str) -> Any:
    """Return the verdict on one value in each profile and framework of a recipe."""
    recipe, samples = _recipe(name), load_samples(references, name)
    verdicts = []
    for profile in sorted({row.recipe.profile for row in samples.rows} & recipe.profiles.keys()):
        training, rows = recipe.resolve(profile), [row for row in samples.standing if row.recipe.profile == profile]
        for framework in FRAMEWORKS:
            verdicts.append(
                judge(
                    [(0, rows[0].value)],
                    rows=rows,
                    recipe=identity_of(recipe, profile),
                    metric=Metric.of(training),
                    checksum=newest_checksum(rows),
                    n_test=training["data"]["n_test"],
                    context=make_context(framework=framework),
                )
            )
    return verdicts


def _step_standard(references: Path, name: str, readers: Sequence[Callable[[Path, str], Any]]) -> Any:
    """Return what verify holds a recipe's steps against."""
    return [reader(references, name) for reader in readers]


def _limits(references: Path, name: str) -> Any:
    return load_limits(name, model=name, directory=references)


def _tapes(references: Path, name: str) -> Any:
    tapes = sorted((reference_directory() / name / "verify").glob("golden-*.npz"))
    recipes = [identity_of(_recipe(name), path.stem.removeprefix("golden-")) for path in tapes]
    paths = [path_of(name, recipe.profile, references) for recipe in recipes]
    return [load_golden(path, recipe=recipe, data_directory=None).sha256 for path, recipe in zip(paths, recipes, strict=True)]


def _resumed(invocation: Path, references: Path) -> Any:
    """Return the verdict of an invocation whose runs have all ended, as `vigil resume` gives it."""
    with mock.patch.object(carry_out, "reference_directory", return_value=references):
        document = carry_out.read_invocation(invocation)
        records = []
        for name in document.runs:
            spec_of(invocation / name)
            record = read_record(invocation / name)
            if record is None:
                raise CannotRun(f"{invocation / name / Record.FILE_NAME}: missing: the run is trained again")
            record.require_files(invocation / name)
            records.append(record)
        return carry_out.judge_records(document, records)


def _gone_on_with(run: Path) -> Any:
    """Return what a run that was killed goes on from: its state, and what it had said before that was saved."""
    require_whole(run)
    if not (run / CHECKPOINT).exists():
        raise CannotRun(f"{run / CHECKPOINT}: missing: the run is trained from its first step")
    state, last = load_state(run / CHECKPOINT)
    told = [event for event in read_events(run) if event["kind"] in ("steps", "evaluated") and event["step"] <= last]
    arrays = dataclasses.asdict(detections.read(detections.step_path(run, last)))
    return last, digest_of_arrays(state), told, digest_of_arrays(arrays)


def _detections(run: Path) -> Any:
    """Return what `vigil coco` and masks.png make of a run's detections."""
    if not (run / Record.FILE_NAME).exists():
        raise CannotRun(f"{run / Record.FILE_NAME}: missing: the run is trained again")
    recorded = read_recorded(run / detections.FILE_NAME)
    return recorded.title, digest_of_arrays(dataclasses.asdict(recorded.detections)), recorded.truth.image_ids.tolist()


def _verification(directory: Path) -> Any:
    """Return a verification, as a night that goes on reads it."""
    try:
        return Verification.read(directory)
    except FileNotFoundError:
        raise CannotRun(f"{directory / Verification.FILE_NAME}: missing: the context is verified again") from None


def _nights(nights: Path) -> Any:
    """Return the nights that there are; what is said of those that cannot be read is raised."""
    documents, remarks = read_nights(nights)
    if remarks:
        raise CannotRun(remarks[0])
    return list(documents.values())


def _make_invocation(runs: Path, references: Path) -> Path:
    """Leave an invocation whose two runs have ended, with the values of two reference rows; return its directory."""
    recipe = _recipe(RECIPE)
    request = Request(
        recipe=recipe, recipe_source=RECIPE, profile=PROFILE, context=make_context(framework="torch"), seeds=(1, 2), fault=None,
        command=f"vigil reproduce {RECIPE} --profile {PROFILE}",
    )  # fmt: skip
    directory = plan(request, runs, data_directory=None)
    rows = [row for row in load_samples(references, RECIPE).standing if row.recipe.profile == PROFILE]
    training = recipe.resolve(PROFILE)
    for seed, row in zip(request.seeds, rows, strict=False):
        spec, created = spec_of(directory / f"seed{seed}"), datetime.now(timezone.utc).isoformat(timespec="seconds")
        Record.model_validate(
            {
                "run_id": spec.run_id, "invocation_id": directory.name, "created": created, "recipe": spec.recipe,
                "context": request.context, "seed": seed, "status": "finished", "failure": None,
                "metric": {**dict(Metric.of(training)), "value": row.value}, "curve": (), "losses": (2.0, 1.0),
                "state_sha256": None, "peak_memory_bytes": None, "fault": None, "environment": {},
                "timing": {"wall_seconds": 1.0, "cpu_seconds": None, "first_step_seconds": None, "images_per_second": None},
                "data": {**training["data"], "checksum": row.data.checksum}, "code": {"commit": None, "dirty": None},
                "verify": None, "files": _write_events(directory / f"seed{seed}"),
            }
        ).write(directory / f"seed{seed}")  # fmt: skip
    return directory


def _make_detector_runs(root: Path) -> tuple[Path, Path]:
    """Leave a detector's run that was killed after a checkpoint, and one that has ended; return their directories."""
    recipe, data = _recipe("tiny_mask_rcnn"), {"name": "scenes", "checksum": None, "n_train": 4, "n_test": 4}
    training = recipe.resolve(PROFILE) | {"steps": 4, "evaluate_every_steps": 2, "data": data}
    context, truth = make_context(framework="torch"), instances.load(data, None).test
    shape = (len(truth.image_ids), 3)
    found = detections.Detections(
        truth.image_ids, np.zeros(shape, np.float32), np.zeros((*shape, 4), np.float32), np.full(shape, -1, np.int32),
        np.zeros((*shape, 28, 28), np.float16),
    )  # fmt: skip
    runs = root / "killed", root / "ended"
    for run in runs:
        run.mkdir(parents=True)
        spec = build_spec(
            run_id=run.name, recipe=identity_of(recipe, PROFILE), training=training, context=context, seed=1,
            data_directory=None, fault=None,
        )  # fmt: skip
        write_spec(run, spec)
        detections.write_step(run, found, step=2)
        _write_events(run)
        save_state(run / CHECKPOINT, {"params/a": np.arange(300.0)}, step=2)
    make_record(runs[1], invocation_id=root.name, context=context, ending=Ending(-9))
    return runs


def _write_events(run: Path) -> dict[str, str]:
    """Leave the events of a run that was killed after its second step; return their digest as a record has it."""
    events = EventWriter(run, heartbeat_seconds=60.0)
    events.emit("started", pid=1, framework="torch")
    events.emit("data", checksum="c0ffee")
    events.emit("steps", step=2, losses=[2.0, 1.0])
    metrics = {"detections_per_image": 4.0}
    events.emit("evaluated", step=2, epoch=0.5, train_loss=1.5, metrics=metrics, images_per_second=None)
    events.close()
    return {EVENTS: digest_of((run / EVENTS).read_bytes())}


if __name__ == "__main__":
    sys.exit(main())
