"""The golden tape: what one recipe's profile should give, step by step, agreed on by the oracle and all frameworks in float64.

Kept in reference_results/ as states (a few bits each), norms, sketches and noise floors, so that a machine with one framework
can verify it: the oracle there makes whole tensors again, and the sketches say whether they are the agreed ones.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from runners.contract.data.batches import Batches
from runners.contract.errors import DAMAGED_ARCHIVE
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.schedule import learning_rate
from vigil.digests import digest_of, read_one, replace_listed
from vigil.documents.identity import Identity
from vigil.errors import CannotRun
from vigil.paths import reference_directory
from vigil.process.side_by_side import Job, available_cores, one_by_another
from vigil.process.workers import Workers
from vigil.recipes.recipe import in_command
from vigil.verify import making
from vigil.verify import probes as probing
from vigil.verify.floors import FULL_DRAWS, MARGIN_DRAWS, Floor
from vigil.verify.oracle.models import Architecture, architecture_of
from vigil.verify.oracle.outline import Outline
from vigil.verify.oracle.rounding import UNITS, Rounding, Units
from vigil.verify.probes import MARGIN_IMAGES, Batch, Probe
from vigil.verify.sketch import make_sketch, sketch_distance
from vigil.verify.standard_cases import StandardCase, answer, data_of, has_taps, judged_part, on_first_images, standard_cases

SCHEMA = 1
SEED = 0
PRECISIONS = ("fp32", "bf16", "fp16", "tf32", "fp64")
# Float64 programs that add in another order differ by less than this part of a tensor's norm, on any machine.
AGREEMENT = 1e-10

Tensors = dict[str, np.ndarray]


class OracleDiffers(CannotRun):
    """The oracle on this machine does not give the tensors that the tape was agreed on with."""


@dataclasses.dataclass(eq=False)
class Golden:
    """A golden tape: what is asked, and what the answer should be. source: the file of a recipe of a user's own."""

    header: dict[str, Any]
    training: dict[str, Any]
    probes: dict[str, Probe]
    batches: Batches
    cases: list[StandardCase]
    sketches: dict[str, dict[str, np.ndarray]]
    norms: dict[str, dict[str, float]]
    floors: dict[str, dict[str, dict[str, Floor]]]
    sha256: str = ""
    source: str | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @property
    def architecture(self) -> Architecture:
        return architecture_of(self.training)

    @functools.cached_property
    def outline(self) -> Outline:
        """What a training step is made of."""
        return probing.outline(self.training, self.probes["init"].state, self.probes["init"].margin)

    @functools.cached_property
    def _exact(self) -> dict[str, Tensors]:
        return {}

    def expected(self, case: StandardCase) -> Tensors:
        """Return the oracle's whole tensors of a case. Raises OracleDiffers unless they are the agreed ones."""
        with self._lock:
            if case.name not in self._exact:
                tensors = exact(case, self)
                for name, sketch in self.sketches[case.name].items():
                    distance, norm = sketch_distance(sketch, tensors[name]), self.norms[case.name][name]
                    if not distance <= AGREEMENT * norm:
                        raise OracleDiffers(
                            f"the oracle differs from the golden tape of {self.header['recipe']['name']}: {case.name}, {name} is "
                            f"{distance / norm if norm else distance:.1e} of its norm away; at most {AGREEMENT:.0e} is rounding. "
                            "Check numpy and its BLAS on this machine (`python -m numpy.test`), or the tape with `vigil golden`."
                        )
                self._exact[case.name] = tensors
            return self._exact[case.name]


def exact(case: StandardCase, tape: Golden) -> Tensors:
    """Return the oracle's answer to a case, reduced to what is judged: taps on margin steps only."""
    return judged_part(case, answer(case, tape.training, tape.probes, tape.batches))


def is_sketched(case: StandardCase, name: str) -> bool:
    """Is a sketch kept? Gradients and parameters follow from the optimizer's state, and are kept where the taps are."""
    return has_taps(case) or not name.startswith(("parameter_gradient/", "params/"))


def path_of(recipe: str, profile: str, directory: Path | None = None, *, source: str | None = None) -> Path:
    """Return where the tape of a recipe's profile lies. `source`: the file of a recipe of a user's own."""
    return (directory or reference_directory(source)) / recipe / "verify" / f"golden-{profile}.npz"


def make_golden(
    *,
    recipe: Identity,
    training: dict[str, Any],
    data_directory: Path | None,
    progress: Callable[[str, int, int], None],
    announce: Callable[[float, float, str], None] = lambda seconds, voter, what: None,
    seed: int = SEED,
    late: int | None = None,
    precisions: tuple[str, ...] = PRECISIONS,
    vote: Callable[[Golden, threading.Event], None] | None = None,
) -> Golden:
    """Compute a tape by the oracle alone; it is golden only once the frameworks have agreed.

    Args:
        progress: told (what, done, total); threads call it.
        announce: told, in the first seconds, how many seconds it will take, how many a voter's arithmetic will, and what it is.
        vote: called with the tape when it lacks its floors alone, which are drawn meanwhile, and with what is set where all of it
            must end; what it raises ends the draws.
    """
    with threadpool_limits(1, user_api="blas"):  # its threads wait in a loop, and what is side by side has a core each
        batches = _batches(training, data_directory, seed)
        is_large = probing.is_large(training, batches, seed=seed)
        steps = probing.probe_steps(training, late=late, is_large=is_large)

        def estimate() -> list[Job]:
            announce(*_estimate(training, batches, steps, seed=seed, is_large=is_large, precisions=precisions))
            return []

        header = {"schema": SCHEMA, "recipe": recipe.as_json(), "seed": seed, "training": training}
        cases = standard_cases(training, _untrained(training, batches, steps, seed=seed))
        tape = Golden(header, training, {}, batches, cases, {}, {}, {})
        making = _Making(tape, is_large=is_large, precisions=precisions, progress=progress, vote=vote)
        making.run(Job(estimate), making.states_of(steps))
    return tape


def _untrained(training: dict[str, Any], batches: Batches, steps: Mapping[str, int], *, seed: int) -> dict[str, Probe]:
    """Return the probes as if nothing had been trained: they tell the cases, and what those cost."""
    state = weights.initial_state(training, seed=seed)
    probe = probing.rebuild_probe(training, batches, "init", step=0, state=state, choice=((0, 0), (0, 0)))
    rates = {name: learning_rate(training["learning_rate"], step) for name, step in steps.items()}
    return {name: dataclasses.replace(probe, name=name, step=step, learning_rate=rates[name]) for name, step in steps.items()}


class _Making:
    """What a tape is made of, a job a core: while the oracle trains to the next state, this one's cases are drawn.

    What takes long is done in processes of its own, which the jobs wait for.
    """

    def __init__(
        self,
        tape: Golden,
        *,
        is_large: bool,
        precisions: tuple[str, ...],
        progress: Callable[[str, int, int], None],
        vote: Callable[[Golden, threading.Event], None] | None = None,
    ) -> None:
        self._tape, self._is_large, self._progress, self._vote = tape, is_large, progress, vote
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._workers = Workers(self._check)
        self._alike: dict[Units, list[str]] = {}  # fp16 and tf32 round alike
        for precision in precisions:
            self._alike.setdefault(UNITS[precision], []).append(precision)
        tape.floors |= {precision: {} for together in self._alike.values() for precision in together}
        # What repeated calls should give is what the step gives.
        self._drawn = {case.name: self._as_drawn(case) for case in tape.cases if case.kind != "repeat"}
        passes = sum(_draws(case, is_large=is_large) * _passes(case) for case in self._drawn.values())
        self._done, self._total = 0, passes * len(self._alike)

    def run(self, *first: Job) -> None:
        """Run jobs and what follows from them; Ctrl-C ends them, wherever they are."""
        with self._workers:
            one_by_another(first, jobs=len(available_cores()), stop=self._stop)
        for case in self._tape.cases:
            if case.kind == "repeat":
                judged = self._comparable(case, self._tape._exact[case.name])
                for of_precision in self._tape.floors.values():
                    of_step = of_precision[f"{case.state}/margin"]
                    of_precision[case.name] = {name: of_step[name] for name in judged}

    def states_of(self, steps: dict[str, int]) -> Job:
        """Return the job that comes to the first state; it is followed by that state's probe, and by itself for the next."""
        tape = self._tape
        states = probing.make_states(
            tape.training,
            tape.batches,
            seed=tape.header["seed"],
            steps=steps,
            advance=functools.partial(self._progress, "steps of the oracle"),
            take=functools.partial(self._workers.call, making.take_step),
        )

        def train() -> list[Job]:
            found = next(states, None)
            if found is None:
                return []
            name, state = found
            return [Job(train), Job(functools.partial(self._look, name, step=steps[name], state=state))]

        return Job(train)

    def _look(self, name: str, *, step: int, state: Tensors) -> list[Job]:
        tape = self._tape

        def told(done: int, total: int) -> None:
            self._check()
            self._progress(f"gates, {name}", done, total)

        tape.probes[name] = probing.make_probe(tape.training, tape.batches, name, step=step, state=state, progress=told)
        return [Job(functools.partial(self._answer, case)) for case in tape.cases if case.state == name]

    def _answer(self, case: StandardCase) -> list[Job]:
        tape = self._tape
        tensors = self._workers.call(making.answer_exactly, *self._asked(case))
        kept = {name: tensor for name, tensor in tensors.items() if is_sketched(case, name)}
        tape.sketches[case.name] = {name: make_sketch(tensor) for name, tensor in kept.items()}
        tape.norms[case.name] = {name: float(np.linalg.norm(tensor)) for name, tensor in kept.items()}
        with self._lock:
            tape._exact[case.name] = tensors
            is_last = len(tape._exact) == len(tape.cases)
        # A voter has a core to itself, and begins before the draws that are left: those are many, and fill both cores to the end.
        return [*([Job(self._ask)] if is_last and self._vote else []), *self.floors_of(case)]

    def _ask(self) -> list[Job]:
        assert self._vote is not None
        self._vote(self._tape, self._stop)
        return []

    def floors_of(self, case: StandardCase) -> list[Job]:
        """Return the jobs that draw a case's floors, of which the exact answer is there: one for each way to round."""
        if case.name not in self._drawn:
            return []
        # Nothing follows from them. The longest first, so that no core waits for another in the end.
        rank = 1.0 / (_passes(self._drawn[case.name]) * _draws(case, is_large=self._is_large))
        return [Job(functools.partial(self._draw, case, units), rank) for units in self._alike]

    def _draw(self, case: StandardCase, units: Units) -> list[Job]:
        tape, drawn, whole = self._tape, self._drawn[case.name], self._tape._exact[case.name]
        asked = self._asked(drawn)
        part = self._workers.call(making.answer_exactly, *asked) if drawn is not case else whole

        def count() -> None:
            with self._lock:
                self._done += _passes(drawn)
                self._progress("noise floors", self._done, self._total)

        precision, *_ = self._alike[units]
        draws, has_flips = _draws(case, is_large=self._is_large), _has_flips(case, tape.training)
        floors = self._workers.call(making.draw_floors, *asked, part, precision, draws, has_flips, on_progress=count)
        for each in self._alike[units]:
            tape.floors[each][case.name] = _of_whole(floors, part=part, whole=whole)
        return []

    def _asked(self, case: StandardCase) -> tuple[list[Batch], StandardCase, dict[str, Any], Probe]:
        tape = self._tape
        return data_of(case, tape.training, tape.probes, tape.batches), case, tape.training, tape.probes[case.state]

    def _as_drawn(self, case: StandardCase) -> StandardCase:
        return _drawn(case, self._tape.training, is_large=self._is_large)

    def _comparable(self, case: StandardCase, tensors: Tensors) -> Tensors:
        return self._tape.architecture.comparable(tensors, tensors)

    def _check(self) -> None:
        if self._stop.is_set():
            raise CancelledError


def _passes(case: StandardCase) -> int:
    """Return how many images go through the model once, forward or backward, in one draw of a case."""
    backward = {"step": 3, "repeat": 3, "accumulate": 6, "alternate": 2}.get(case.kind, 0)
    return backward * case.rows + (case.evaluation_rows if case.kind in ("predict", "alternate") else 0) or case.rows


def _drawn(case: StandardCase, training: dict[str, Any], *, is_large: bool) -> StandardCase:
    """Return the case that is drawn: where a model is large, an evaluation of its first images: none knows of the others."""
    is_cut = is_large and case.kind == "predict" and not architecture_of(training).choices
    return on_first_images(case) if is_cut else case


def _of_whole(floors: dict[str, Floor], *, part: Tensors, whole: Tensors) -> dict[str, Floor]:
    """Return the floors of whole tensors from those of a part of their rows: as large in relation to the tensor."""
    result = {}
    for name, floor in floors.items():
        if name not in part or part[name].shape == whole[name].shape:
            result[name] = floor
            continue
        ratio = float(np.linalg.norm(whole[name]) / np.linalg.norm(part[name]))
        result[name] = dataclasses.replace(floor, distance=ratio * floor.distance, distance_error=ratio * floor.distance_error)
    return result


def _estimate(
    training: dict[str, Any],
    batches: Batches,
    steps: Mapping[str, int],
    *,
    seed: int,
    is_large: bool,
    precisions: tuple[str, ...],
) -> tuple[float, float, str]:
    """Return how many seconds the oracle will take, and how many a voter's arithmetic, from a few steps; and what is done."""
    probes = _untrained(training, batches, steps, seed=seed)
    cases = standard_cases(training, probes)

    def of_pass(case: StandardCase, rounding: Rounding | None) -> float:
        begun = time.perf_counter()
        answer(case, training, probes, batches, rounding=rounding)
        return (time.perf_counter() - begun) / _passes(case)

    margin, full = (next(case for case in cases if case.kind == "step" and case.is_full is each) for each in (False, True))
    of_pass(margin, None)  # slower than any after it
    looking, training_step = of_pass(margin, None), of_pass(full, None)
    ways = {UNITS[precision] for precision in precisions}
    # Coarse ones take less: each kind is timed once.
    kinds = {Rounding(units).is_coarse: units for units in ways}
    of_kind = {(case.is_full, kind): of_pass(case, Rounding(units)) for case in (margin, full) for kind, units in kinds.items()}
    drawing = {is_full: sum(of_kind[is_full, Rounding(units).is_coarse] for units in ways) for is_full in (False, True)}
    drawn = 0.0
    for case in (case for case in cases if case.kind != "repeat"):
        passes = _passes(_drawn(case, training, is_large=is_large))
        drawn += drawing[case.is_full] * passes * _draws(case, is_large=is_large)
    biases = probing.gated_biases(probing.outline(training, probes["init"].state, probes["init"].margin))
    looked_at = looking * 2 * MARGIN_IMAGES * len(biases) * len(steps)
    trained = max(steps.values()) * _passes(full) * training_step
    answered = training_step * sum(map(_passes, cases))
    shared = trained + looked_at + answered + drawn
    what = f"{max(steps.values())} steps of the oracle, {len(cases)} cases in {len(precisions)} precisions"
    voted = training_step * sum(_passes(on_first_images(case)) for case in cases)
    return max(trained, shared / len(available_cores())), voted, what


def save_golden(path: Path, tape: Golden) -> None:
    """Write the tape as one compressed .npz file."""
    arrays: dict[str, Any] = {}
    header = {**tape.header, "cases": [], "scales": {}, "sizes": {}, "probes": {}, "precisions": sorted(tape.floors)}
    initial = weights.initial_state(tape.training, seed=tape.header["seed"])
    for name, probe in tape.probes.items():
        header["probes"][name] = {"step": probe.step, "choice": probe.choice}
        for key, value in probe.state.items():
            if np.array_equal(value, initial[key]):
                continue
            bits = probing.bits_of(tape.training, key)
            if bits == 0:
                header["sizes"][f"{name}/{key}"] = probing.size_of(value)
            elif bits is None:
                arrays[f"state/{name}/{key}"] = value.astype(np.float32)
            else:
                arrays[f"state/{name}/{key}"], header["scales"][f"{name}/{key}"] = probing.quantise(value, bits=bits)
    for case in tape.cases:
        sizes = {name: len(sketch) for name, sketch in tape.sketches[case.name].items()}
        judged = list(next(iter(tape.floors.values()))[case.name])
        draws = next(iter(next(iter(tape.floors.values()))[case.name].values())).draws
        header["cases"].append({"name": case.name, "sizes": sizes, "judged": judged, "draws": draws})
    sketches = [sketch for case in tape.cases for sketch in tape.sketches[case.name].values()]
    arrays["sketches"] = _shortened(np.concatenate(sketches), bits=34)  # 1e-11 of each number, a tenth of AGREEMENT
    arrays["norms"] = np.array([norm for case in tape.cases for norm in tape.norms[case.name].values()])
    for precision in header["precisions"]:
        rows = [floor for case in tape.cases for floor in tape.floors[precision][case.name].values()]
        floors = np.array([(f.distance, f.distance_error, *f.slope, *f.intercept) for f in rows], np.float32)
        arrays[f"floors/{precision}"] = _shortened(floors, bits=8)  # a floor of few draws is known to a hundredth
    arrays["header"] = np.frombuffer(json.dumps(header, separators=(",", ":")).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    replace_listed(path, buffer.getvalue())


def _shortened(array: np.ndarray, *, bits: int) -> np.ndarray:
    """Return the array with so many bits of each significand, rounded: the zeros behind them take no space once compressed."""
    significand, exponent = np.frexp(array)
    return np.ldexp(np.rint(np.ldexp(significand, bits + 1)), exponent - bits - 1).astype(array.dtype)


def load_golden(path: Path, *, recipe: Identity, data_directory: Path | None, source: str | None = None) -> Golden:
    """Read a tape. Raises CannotRun when it is missing, broken, or was made for another recipe.

    Args:
        source: the file of a recipe of a user's own.
    """
    command = f"`vigil golden {in_command(recipe.name, source)} --profile {recipe.profile}`"
    content = read_one(path)
    if content is None:
        cost = "minutes; it says how many in its first seconds" if source else "it needs the three frameworks"
        raise CannotRun(
            f"{path}: no golden tape for recipe {recipe.name}, profile {recipe.profile}. Make one with {command} ({cost})."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays["header"].tobytes())
    except DAMAGED_ARCHIVE as error:
        raise CannotRun(f"{path}: not a golden tape ({type(error).__name__}: {error}). Restore it, or make it again.") from error
    if header["schema"] != SCHEMA or header["recipe"]["hash"] != recipe.hash:
        raise CannotRun(
            f"{path}: made for recipe hash {header['recipe']['hash']}, this recipe's is {recipe.hash}. "
            f"Make it again with {command}."
        )
    tape = _unpack(header, arrays, data_directory)
    return dataclasses.replace(tape, sha256=digest_of(content), source=source)


def _unpack(header: dict[str, Any], arrays: Mapping[str, np.ndarray], data_directory: Path | None) -> Golden:
    training, seed = header["training"], header["seed"]
    batches = _batches(training, data_directory, seed)
    probes, initial = {}, weights.initial_state(training, seed=seed)
    for name, facts in header["probes"].items():
        prefix = f"state/{name}/"
        state = initial | {
            key.removeprefix(prefix): value * header["scales"].get(key.removeprefix("state/"), 1.0)
            for key, value in arrays.items()
            if key.startswith(prefix)
        }
        for key, size in header.get("sizes", {}).items():
            if key.startswith(f"{name}/"):
                slot = key.removeprefix(f"{name}/")
                state[slot] = probing.of_size(training, slot, size)
        state = {key: value.astype(np.float64) for key, value in state.items()}
        choice = tuple(tuple(each) for each in facts["choice"])
        probes[name] = probing.rebuild_probe(training, batches, name, step=facts["step"], state=state, choice=choice)
    cases = standard_cases(training, probes)
    drawn = {case.name: _draws(case) for case in cases}  # of a tape that does not say it
    sketches: dict[str, dict[str, np.ndarray]] = {}
    norms: dict[str, dict[str, float]] = {}
    floors: dict[str, dict[str, dict[str, Floor]]] = {precision: {} for precision in header["precisions"]}
    parts = iter(np.split(arrays["sketches"], np.cumsum([n for case in header["cases"] for n in case["sizes"].values()])))
    sizes = iter(arrays["norms"].tolist())
    rows = {precision: iter(arrays[f"floors/{precision}"].tolist()) for precision in floors}
    for case in header["cases"]:
        sketches[case["name"]] = {name: next(parts) for name in case["sizes"]}
        norms[case["name"]] = {name: next(sizes) for name in case["sizes"]}
        for precision, row in rows.items():
            draws = case.get("draws", drawn[case["name"]])
            floors[precision][case["name"]] = {name: _floor(*next(row), draws=draws) for name in case["judged"]}
    return Golden(header, training, probes, batches, cases, sketches, norms, floors)


def _floor(
    distance: float, error: float, slope: float, slope_sd: float, intercept: float, intercept_sd: float, *, draws: int
) -> Floor:
    return Floor(distance, error, (slope, slope_sd), (intercept, intercept_sd), draws)


def _has_flips(case: StandardCase, training: dict[str, Any]) -> bool:
    # What a model chooses in an evaluation passes gates of another kind.
    chooses = architecture_of(training).choices is not None
    return (case.is_full and case.kind == "step") or (chooses and case.kind in ("predict", "alternate"))


def _draws(case: StandardCase, *, is_large: bool = False) -> int:
    draws = FULL_DRAWS if case.is_full else MARGIN_DRAWS
    return draws // 2 if is_large else draws


def _batches(training: dict[str, Any], data_directory: Path | None, seed: int) -> Batches:
    kind = kind_of(training)
    dataset = kind.load(training["data"], str(data_directory) if data_directory else None)
    return kind.make_batches(dataset, training, seed=seed)
