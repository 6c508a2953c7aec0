"""Made-up verify.json documents of a ResNet-8, and the directories they lie in: what the conductor would leave."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

from runners.contract.kinds.table import kind_of
from runners.contract.protocol.spec import SCHEMA, RunSpec, write_spec
from vigil.documents.context import make_context
from vigil.documents.narrowing import Narrowing, place_of
from vigil.documents.verification import Verification
from vigil.recipes.loading import load_recipe, recipe_hash

RECIPE = load_recipe("resnet_cifar")
TRAINING = RECIPE.resolve("quick")
CASES = {
    "init/margin": "step",
    "early/margin": "step",
    "late/margin": "step",
    "late/evaluation": "predict",
    "early/repeat": "repeat",
    "init/full": "step",
    "late/full": "step",
}
ORIGIN = {
    "layer": "stage1.block1.conv2",
    "phase": "backward",
    "quantity": "weight gradient",
    "tensor": "parameter_gradient/stage1.block1.conv2.kernel",
    "case": "early/margin",
    "ratio": 5134.4,
    "slope": 1.00099,
    "remark": "",
    "is_certain": True,
}


def tensors_of(kind: str) -> list[str]:
    """Return the tensors that a case of a kind shows."""
    if kind == "predict":
        return ["logits"]
    table = kind_of(TRAINING).tabulate(TRAINING["model"])
    parameters, statistics = table.parameters, table.statistics
    names = [f"{group}/{name}" for group in ("parameter_gradient", "momentum", "params") for name in parameters]
    names += ["loss", *(f"stats/{name}" for name in statistics)]
    return [f"{call}/{name}" for call in (0, 57) for name in names] if kind == "repeat" else names


def a_tensor(case: str, tensor: str, *, ratio: float, score: float) -> dict[str, Any]:
    """Return one entry of `tensors`."""
    found = {"case": case, "tensor": tensor, "ratio": ratio, "slope": 1.0, "intercept": 0.0, "slope_z": 0.5, "intercept_z": 0.5}
    return {**found, "problem": None, "score": score}


def a_document(*, wrong: dict[tuple[str, str], float] | None = None, **changes: Any) -> Verification:
    """Return the document of a right torch-compile context. `wrong`: (case, tensor) -> ratio; `changes` replace fields."""
    draw, wrong = random.Random(7), wrong or {}
    tensors = []
    for case, kind in CASES.items():
        for name in tensors_of(kind):
            ratio = wrong.get((case, name), round(draw.lognormvariate(0.1, 0.45), 4))
            tensors.append(a_tensor(case, name, ratio=ratio, score=ratio / 38.0))
    tensors.sort(key=lambda each: -each["score"])
    out = sum(each["score"] > 1.0 for each in tensors)
    reason = f"{out} of {len(tensors)} tensors are out" if out else f"{len(tensors)} tensors within their limits"
    document = {
        "schema": 1, "verify_id": "20261122-verify-one", "created": "2026-11-22T10:00:21+00:00", "command": "vigil verify",
        "recipe": {"name": "resnet_cifar", "version": 1, "hash": recipe_hash(TRAINING), "profile": "quick"},
        "context": make_context(framework="torch", mode="compile").as_dict(), "fault": None,
        "golden": {
            "sha256": "ab" * 32, "created": "2026-11-21T09:00:00+00:00",
            "votes": {
                name: {"version": version, "agrees": True, "largest": 1e-12, "case": "late/full", "tensor": "loss"}
                for name, version in (("oracle", "numpy 2.4"), ("torch", "2.13.0"), ("tensorflow", "2.21.0"), ("jax", "0.10.2"))
            },
        },
        "limits": {"clean_rows": 1234},
        "verdict": {"name": "regressed" if out else "reproduced", "reason": reason},
        "worst": tensors[0], "origin": None, "origins": [], "passengers": [], "looks": [], "remarks": [], "broken": [],
        "tensors": tensors, "cases": [{"name": name, "seconds": 0.5} for name in CASES], "known": [],
        "environment": {
            "framework": "torch", "framework_version": "2.13.0", "python": "3.11.7", "hardware": "a CPU, 2 cores, 8 GiB"},
        "seconds": 21.3,
    }  # fmt: skip
    return Verification.model_validate(document | changes)


def a_regression(**changes: Any) -> Verification:
    """Return the document of one weight gradient x 1.001: it is out, and what follows from it inherits it."""
    kernel = ORIGIN["tensor"].partition("/")[2]
    wrong = {}
    for case in ("early/margin", "init/margin", "late/margin"):
        wrong |= {(case, f"{group}/{kernel}"): ratio for group, ratio in (("momentum", 5134.4), ("params", 812.0))}
        wrong[case, ORIGIN["tensor"]] = 5134.4
    passengers = [f"{group}/{kernel}" for group in ("momentum", "params")]
    return a_document(wrong=wrong, **{"origin": ORIGIN, "origins": [ORIGIN], "passengers": passengers} | changes)


def a_failure(name: str = "failed:crash", **changes: Any) -> Verification:
    """Return the document of a runner that ended before it answered anything."""
    verdict: dict[str, Any] = {"name": name, "reason": "the machine is on fire"}
    if name.startswith("failed:"):
        tail = [f"line {number}" for number in range(9)]
        failure = {"category": name[7:], "phase": "build", "step": 0, "message": verdict["reason"], "log_tail": tail}
        verdict["failure"] = failure
    return a_document(**{"verdict": verdict, "worst": None, "tensors": []} | changes)


def write_verification(directory: Path, document: Verification) -> Path:
    """Write a verification's directory: its document, and the spec of its runner."""
    (directory / "answers").mkdir(parents=True)
    document.write(directory)
    write_spec(directory / "answers", dataclasses.replace(_SPEC, task="verify"))
    return directory


def a_narrowing(run: Path, **changes: Any) -> Narrowing:
    """Return what narrowing a run came to: a release that brought it, and two switches of which one hides it."""
    search = {
        "package": "jax", "hold": (), "oldest": "0.9.0", "newest": "0.10.2", "releases": 4, "looks": (), "changes": (),
        "says": "jax 0.9.0 right, wrong since 0.10.1", "rounds": 2, "seconds": 80.0,
    }  # fmt: skip
    switches = [
        {"name": name, "outcome": outcome, "says": "s", "tells": "fusion does it", "is_workaround": True}
        for name, outcome in (("no fusion", "right"), ("one thread", "wrong"))
    ]
    script = {"path": "script.py", "sha256": "ab" * 32, "lines": 28, "says": "WRONG got 2 expected 1", "wrong": 4, "runs": 4}
    document = {
        "schema": 1, "narrow_id": "1", "created": "2026-11-22T10:05:00+00:00", "command": "vigil narrow",
        "source": {"kind": "verification", "path": str(run), "what": "stem.bn, forward, output"},
        "framework": "jax", "framework_version": "0.10.2", "release": None, "fault": None, "state": "narrowed",
        "reason": "WRONG got 2 expected 1; hidden by no fusion; jax 0.9.0 right, wrong since 0.10.1",
        "script": script, "smaller": None, "releases": search, "switches": switches, "environment": {}, "seconds": 90.0,
    }  # fmt: skip
    return Narrowing.model_validate(document | changes)


def write_narrowing(run: Path, document: Narrowing | None = None) -> Path:
    """Write the narrowing of a run below it, with script and report."""
    place = place_of(run)
    place.mkdir(parents=True)
    (document or a_narrowing(run)).write(place)
    (place / "script.py").write_text("print('WRONG')\n")
    (place / "report.md").write_text("# It is wrong\n")
    return place


_SPEC = RunSpec(
    schema=SCHEMA,
    run_id="answers",
    recipe={"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "quick"},
    framework="torch",
    mode="compile",
    precision="fp32",
    device="cpu",
    devices=1,
    shards=(32,),
    evaluation_shards=(500,),
    determinism="off",
    randomness="shared",
    seed=0,
    threads=1,
    cores=None,
    training=TRAINING,
    data_directory=None,
    fault=None,
    heartbeat_seconds=60.0,
)
