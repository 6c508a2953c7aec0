"""How many planted faults a verification of users' steps catches, and how many it tells with the right origin."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from benchmarks.own_steps.measure import REPEATS, not_clean
from benchmarks.own_steps.plant import Plant
from runners.contract.protocol.faults import file_sha256
from runners.contract.steps import frame
from vigil.documents.context import make_context
from vigil.documents.provenance import Environment
from vigil.process.hosts import Hosts, hosts
from vigil.process.side_by_side import side_by_side
from vigil.steps.judge import Judged, differences_of, judge, origin_of
from vigil.steps.processes import Asked, Ended, run
from vigil.steps.verify import asked_of, framework_of
from vigil.verify.limits import Limits


class Caught(NamedTuple):
    """What a verification said of a planted fault. problem: why it said nothing."""

    plant: Plant
    mode: str
    tensors_out: int
    origin: str
    ratio: float
    problem: str = ""
    version: str = ""

    @property
    def is_named(self) -> bool:
        return self.tensors_out > 0 and self.plant.names(self.origin)


def detect(
    plants: Sequence[Plant], programs: Path, directory: Path, limits: Limits, *, mode: str, jobs: int, tell: Callable[[str], None]
) -> list[Caught]:
    """Plant each fault in its program, in float32 on one thread, and return what was said of it."""
    with hosts() as opened:
        return _detected(plants, programs, directory, limits, opened, mode=mode, jobs=jobs, tell=tell)


def _detected(
    plants: Sequence[Plant],
    programs: Path,
    directory: Path,
    limits: Limits,
    opened: Hosts,
    *,
    mode: str,
    jobs: int,
    tell: Callable[[str], None],
) -> list[Caught]:
    stop = threading.Event()
    files = {name: programs / f"{name}.py" for name in dict.fromkeys(plant.program for plant in plants)}
    asked = {name: asked_of(file, framework_of(file), stop=stop, hosts=opened, repeats=REPEATS) for name, file in files.items()}
    oracles: dict[tuple[str, bool], Ended] = {}

    def oracle(item: tuple[str, bool], cores: list[int] | None) -> None:
        name, looks = item
        place = directory / f"{name}-oracle-{looks}"
        oracles[item] = run(asked[name], place, task="oracle", precision="fp32", seeds=[0], looks=looks, cores=cores)

    def on_end(done: int, caught: Caught) -> None:
        tell(f"[{done}/{len(plants)}] {line(caught)}")

    def plant(item: tuple[int, Plant], cores: list[int] | None) -> Caught:
        number, each = item
        place = directory / f"{each.program}-{number}"
        place.mkdir()
        (place / "fault.py").write_text(each.source, encoding="utf-8")
        fault = {"path": str(place / "fault.py"), "name": "fault", "sha256": file_sha256(place / "fault.py")}
        faulty = dataclasses.replace(asked[each.program], fault=fault)
        found = _caught(each, faulty, place, oracles, limits, mode=mode, cores=cores)
        version = oracles[each.program, False].environment.get("framework_version", "")
        return found._replace(version=str(version))

    side_by_side(
        [(name, looks) for name in asked for looks in (False, True)], oracle, jobs=jobs, stop=stop, on_end=lambda *done: None
    )
    return side_by_side(
        list(enumerate(plants)),
        plant,
        jobs=jobs,
        stop=stop,
        on_end=on_end,
    )


def _caught(
    plant: Plant,
    asked: Asked,
    place: Path,
    oracles: dict[tuple[str, bool], Ended],
    limits: Limits,
    *,
    mode: str,
    cores: list[int] | None,
) -> Caught:
    whole, look = oracles[plant.program, False], oracles[plant.program, True]
    step = run(asked, place / "step", task="context", mode=mode, precision="fp32", expected=[whole.directory], cores=cores)
    if step.failure:
        return Caught(plant, mode, 0, "", 0.0, f"{step.failure.category}: {step.failure.message}")
    updates = run(asked, place / "updates", task="updates", precision="fp32", expected=[step.directory], cores=cores)
    if updates.failure:
        return Caught(plant, mode, 0, "", 0.0, f"{updates.failure.category}: {updates.failure.message}")
    known = not_clean(plant.program, make_context(framework=asked.framework, mode=mode, precision="fp32"))
    judged = [each for each in _judged(step, whole, limits, has_updates=True) if each.difference.family not in known]
    if not any(each.score > 1.0 for each in judged):
        return Caught(plant, mode, 0, "", max((each.score for each in judged), default=0.0))
    inside = run(
        asked, place / "look", task="context", mode=mode, precision="fp32", looks=True, expected=[look.directory], cores=cores
    )
    looked = [] if inside.failure else _judged(inside, look, limits, has_updates=False)
    origin = origin_of(looked, judged)
    return Caught(
        plant, mode, sum(each.score > 1.0 for each in judged), origin.text if origin else "", origin.ratio if origin else 0.0
    )


def _judged(ended: Ended, oracle: Ended, limits: Limits, *, has_updates: bool) -> list[Judged]:
    updates = ended.read(frame.UPDATES) if has_updates else {}
    differences = differences_of(ended.read(frame.ANSWERS), oracle.read(frame.FLOORS)["floors"], updates)
    return judge(differences, limits, "fp32")


def context_of(plant: Plant, mode: str) -> str:
    """Return the context in which a fault was planted."""
    return make_context(framework=plant.program.split("_")[0], mode=mode, precision="fp32").text


def line(caught: Caught) -> str:
    """Return what was said of a fault in one line."""
    plant = caught.plant
    if caught.problem:
        return f"{plant.program}, {plant.name}: {caught.problem}"
    if not caught.tensors_out:
        return f"{plant.program}, {plant.name}: not seen, at {caught.ratio:.2g} of a limit"
    named = "" if caught.is_named else f" (planted in: {plant.expected})"
    return f"{plant.program}, {plant.name}: {caught.tensors_out} tensors out, {caught.origin}{named}"


def page(found: Sequence[Caught], environment: Environment, *, command: str) -> str:
    """Return all of it as a page in Markdown, with what was asked, on what and when."""
    versions = ", ".join(sorted({f"{each.plant.program.split('_')[0]} {each.version}" for each in found if each.version}))
    caught, named = sum(each.tensors_out > 0 for each in found), sum(each.is_named for each in found)
    frameworks = " and ".join(dict.fromkeys(each.plant.program.split("_")[0] for each in found))
    lines = [
        f"# Faults planted in steps of users in {frameworks}",
        "",
        f"{caught} of {len(found)} are caught, and {named} are told with the origin that was written down before.",
        f"`{command}`, in float32 on one thread.",
        f"{environment['hardware']}, {versions}, {datetime.now(timezone.utc):%Y-%m-%d}.",
        "What the release gets wrong in a program without them ([findings](findings.md)) does not count.",
        "Programs and faults: [benchmarks/own_steps](../benchmarks/own_steps); what is asked: [own-steps.md](own-steps.md).",
        "",
        "| program | planted | context | tensors out | origin told | as planted |",
        "|---|---|---|---|---|---|",
    ]
    for each in found:
        told = each.problem or each.origin or "not seen"
        lines.append(
            f"| {each.plant.program} | {each.plant.name} | {context_of(each.plant, each.mode)} | {each.tensors_out} | {told} | "
            f"{'yes' if each.is_named else 'no'} |"
        )
    return "\n".join(lines) + "\n"
