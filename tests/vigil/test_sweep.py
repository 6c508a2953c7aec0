"""Many requests side by side: each on its own cores, all results in order, and an end to all on Ctrl-C."""

from __future__ import annotations

import threading
import time

import pytest

import vigil.process.side_by_side
import vigil.runs.carry_out
import vigil.runs.plan
from runners.contract.protocol.spec import read_spec
from vigil.documents.context import make_context
from vigil.errors import FrameworkMissing
from vigil.recipes.loading import load_recipe
from vigil.runs.contexts import matrix_contexts
from vigil.runs.plan import Request
from vigil.runs.sweep import sweep


def nothing(*facts) -> None:
    pass


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    """Every framework counts as installed, and the machine has two cores."""
    monkeypatch.setattr(vigil.runs.plan, "require_framework", nothing)
    monkeypatch.setattr(vigil.process.side_by_side, "available_cores", lambda: [0, 1])


def requests(contexts) -> list[Request]:
    """Return one smoke request a context."""
    recipe = load_recipe("resnet_cifar")
    return [Request(recipe, "resnet_cifar", "smoke", context, (0,), None, "vigil matrix") for context in contexts]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_request_is_carried_out_and_returned_in_order(scripted, places, jobs):
    """Results come back in the order asked for, whichever ended first, and each is reported once, and its runs before it."""
    started = scripted({0: 80.0})
    contexts = matrix_contexts(["torch", "jax"], modes=["eager", "jit"], precisions=["fp32"], devices=[1])
    reported, recorded = [], []
    results = sweep(
        requests(contexts),
        places,
        jobs=jobs,
        progress_timeout=60.0,
        on_data=nothing,
        on_end=lambda done, invocation, directory: reported.append(done),
        on_recorded=lambda run: recorded.append(run if (run / "record.json").is_file() else None),
    )
    assert [invocation.context.text for invocation, _ in results] == [context.text for context in contexts]
    assert reported == [1, 2, 3, 4]
    assert set(recorded) == {directory / "seed0" for _, directory in results}
    assert len(started) == 4


def test_cells_side_by_side_have_cores_of_their_own(scripted, places, monkeypatch):
    """Two jobs on two cores: each spec is bound to one, and no core is used twice at a time."""
    scripted({0: 80.0})
    quick = vigil.runs.carry_out.execute
    in_use, overlaps, lock = set(), [], threading.Lock()

    def execute(directory, framework, **options):
        cores = set(read_spec(directory).cores)
        with lock:
            overlaps.append(cores & in_use)
            in_use.update(cores)
        time.sleep(0.05)
        with lock:
            in_use.difference_update(cores)
        return quick(directory, framework, **options)

    monkeypatch.setattr(vigil.runs.carry_out, "execute", execute)
    contexts = matrix_contexts(["torch"], modes=["eager", "jit"])
    results = sweep(requests(contexts), places, jobs=2, progress_timeout=60.0, on_end=nothing, on_data=nothing)
    specs = [read_spec(directory / "seed0") for _, directory in results]
    assert {spec.cores for spec in specs} == {(0,), (1,)}
    assert {spec.threads for spec in specs} == {1}
    assert not any(overlaps)


def test_all_requests_are_checked_before_the_first_trains(scripted, places, monkeypatch):
    """A last cell that cannot run is said at once, not after hours."""
    started = scripted({0: 80.0})

    def require(framework: str) -> None:
        if framework == "jax":
            raise FrameworkMissing("jax is not installed")

    monkeypatch.setattr(vigil.runs.plan, "require_framework", require)
    contexts = [make_context(framework="torch"), make_context(framework="jax")]
    with pytest.raises(FrameworkMissing):
        sweep(requests(contexts), places, jobs=1, progress_timeout=60.0, on_end=nothing, on_data=nothing)
    assert started == []


def test_ctrl_c_starts_no_more(scripted, places, monkeypatch):
    """Ctrl-C while the first result is shown ends the sweep; what was waiting never starts."""
    started = scripted({0: 80.0})
    quick = vigil.runs.carry_out.execute

    def execute(directory, framework, *, stop, **options):
        if started:
            stop.wait(10.0)
        return quick(directory, framework, **options)

    monkeypatch.setattr(vigil.runs.carry_out, "execute", execute)

    def press(*facts) -> None:
        raise KeyboardInterrupt

    contexts = matrix_contexts(["torch", "jax", "tensorflow"])
    with pytest.raises(KeyboardInterrupt):
        sweep(requests(contexts), places, jobs=1, progress_timeout=60.0, on_end=press, on_data=nothing)
    assert len(started) <= 2


def test_ctrl_c_stops_the_cells_that_are_running(scripted, places, monkeypatch):
    """A cell under way sees the stop signal, though Ctrl-C reaches the main thread only."""
    scripted({0: 80.0})
    quick, seen = vigil.runs.carry_out.execute, []

    def execute(directory, framework, *, stop, **options):
        if framework == "jax":
            seen.append(stop.wait(10.0))
        return quick(directory, framework, **options)

    monkeypatch.setattr(vigil.runs.carry_out, "execute", execute)

    def press(*facts) -> None:
        raise KeyboardInterrupt

    contexts = [make_context(framework="jax"), make_context(framework="torch")]
    with pytest.raises(KeyboardInterrupt):
        sweep(requests(contexts), places, jobs=2, progress_timeout=60.0, on_end=press, on_data=nothing)
    assert seen == [True]
