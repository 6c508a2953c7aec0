"""What a probe came to is stored, and never asked again; what was cut off is no evidence."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

import pytest

from runners.contract.files import digest_of_values
from vigil.errors import DirectoryError, EnvironmentFailed
from vigil.narrow import probes, since
from vigil.narrow.outcome import FAILED, NOT_INSTALLED, OTHERWISE, WRONG
from vigil.narrow.probes import FOLDER, Prober, Subject, modules_of
from vigil.releases.resolve import Resolved

SAYS_WRONG = "print('WRONG got 2.0 expected 1.0'); raise SystemExit(1)"


def prober(script, *, like: str | None = None, fault=None) -> Prober:
    return Prober(Subject(script, "jax", (), like, fault))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SAYS_WRONG)
    return path


def lines(cache) -> list[str]:
    [path] = (cache.parent / FOLDER).glob("*.jsonl")
    return path.read_text().splitlines()


def test_outcomes_are_stored_by_script_and_environment(script, cache) -> None:
    first = prober(script)
    assert first.once(sys.executable, key="a").kind == WRONG
    assert [each.kind for each in prober(script).stored("a")] == [WRONG]
    assert prober(script).stored("b") == []
    script.write_text(SAYS_WRONG + " ")
    assert prober(script).stored("a") == []
    assert len(lines(cache)) == 1


def test_what_is_stored_is_judged_by_the_failure_that_is_looked_for(script) -> None:
    prober(script).once(sys.executable, key="a")
    assert [each.kind for each in prober(script, like="WRONG got 0.5 expected 1.0").stored("a")] == [OTHERWISE]


def test_a_planted_fault_is_another_subject(script) -> None:
    prober(script).once(sys.executable, key="a")
    assert prober(script, fault={"path": "x", "sha256": "ab"}).stored("a") == []


@pytest.mark.parametrize("damage", ["cut", "altered", "garbage"])
def test_a_damaged_line_is_no_evidence(script, cache, damage) -> None:
    """A line that was cut off takes none of those that are written after it along."""
    prober(script).once(sys.executable, key="a")
    [path] = (cache.parent / FOLDER).glob("*.jsonl")
    text = path.read_text()
    path.write_text({"cut": text[:40], "altered": text.replace("WRONG got 2.0", "WRONG got 1.0"), "garbage": "\x00\n"}[damage])
    assert prober(script).stored("a") == []
    prober(script).once(sys.executable, key="a")
    assert [each.kind for each in prober(script).stored("a")] == [WRONG]


def test_a_full_disk_is_one_line_and_loses_nothing(script, cache, monkeypatch) -> None:
    prober(script).once(sys.executable, key="a")

    def full(*arguments) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(DirectoryError, match=r"No space left on device.*Nothing that was found is lost"):
            prober(script).once(sys.executable, key="a")
    assert [each.kind for each in prober(script).stored("a")][:1] == [WRONG]


def test_a_busy_machine_s_time_out_is_not_stored(script, monkeypatch) -> None:
    script.write_text("import time; time.sleep(30)")
    monkeypatch.setattr("vigil.narrow.probes.SECONDS", 0.5)
    found = prober(script).once(sys.executable, key="a")
    assert found.line.startswith("not done after")
    assert prober(script).stored("a") == []


def test_a_release_that_cannot_be_installed_is_stored_by_its_name(script) -> None:
    error = EnvironmentFailed("jax==0.1: no set of packages fits", log_tail=["no wheel for this Python", " "], is_final=True)
    assert prober(script).has_none("jax==0.1", error).kind == NOT_INSTALLED
    [stored] = prober(script).stored("jax==0.1")
    assert (stored.kind, stored.line) == (NOT_INSTALLED, "jax==0.1: no set of packages fits no wheel for this Python")


def test_what_another_try_may_mend_is_not_stored(script) -> None:
    """An environment that was not built for want of room says nothing of its release."""
    assert prober(script).has_none("jax==0.1", EnvironmentFailed("no virtual environment")).kind == NOT_INSTALLED
    assert prober(script).stored("jax==0.1") == []


@pytest.mark.parametrize(
    "statement",
    [
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.kill(os.getpid(), 15)",
        "raise OSError(28, 'No space left on device')",
        "raise MemoryError",
    ],
)
def test_what_the_machine_ended_is_not_stored(script, statement) -> None:
    script.write_text(statement)
    assert prober(script).once(sys.executable, key="a").kind == FAILED
    assert prober(script).stored("a") == []


@pytest.mark.parametrize("name", ["XLA_FLAGS", "OMP_NUM_THREADS", "TORCH_LOGS", "PYTHONHASHSEED", "OF_THE_SCRIPT"])
def test_a_run_under_other_variables_is_another_run(script, monkeypatch, name) -> None:
    """Those that steer numbers, and those that the script itself names."""
    script.write_text(SAYS_WRONG + "  # 'OF_THE_SCRIPT'")
    prober(script).once(sys.executable, key="a")
    monkeypatch.setenv("EDITOR_OF_MINE", "x")
    assert len(prober(script).stored("a")) == 1
    monkeypatch.setenv(name, "other")
    assert prober(script).stored("a") == []


def test_a_run_of_which_the_variables_are_not_known_is_made_again(script, cache) -> None:
    """As earlier versions stored it."""
    prober(script).once(sys.executable, key="a")
    [path] = (cache.parent / FOLDER).glob("*.jsonl")
    row = json.loads(path.read_text())
    old = {name: value for name, value in row.items() if name not in ("variables", "sha256")}
    path.write_text(json.dumps({**old, "sha256": digest_of_values(old)}) + "\n")
    assert prober(script).stored("a") == []


def test_ctrl_c_ends_a_search_within_seconds(script, monkeypatch) -> None:
    """What runs is ended, and what was not begun is not; nothing of it is stored."""
    script.write_text("import time; time.sleep(60)")

    @contextlib.contextmanager
    def held(resolved, tell):
        yield Path(sys.executable)

    monkeypatch.setattr(probes, "held", held)
    monkeypatch.setattr(since, "pins_of", lambda release, tell: Resolved(release.text, release.version, ("jax==1",)))
    asked, began = prober(script), time.monotonic()

    def pressed(*arguments, **options):
        time.sleep(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(since, "wait", pressed)
    with pytest.raises(KeyboardInterrupt):
        since.search(since.Line("jax", "jax", ("1", "2", "3")), asked, jobs=1)
    assert time.monotonic() - began < 20
    assert asked.stored("1") + asked.stored("2") + asked.stored("3") == []


def test_a_script_says_which_modules_it_imports() -> None:
    text = "import numpy as np\nfrom jax.numpy import sinc\nimport keras.ops\n"
    assert modules_of(text, ("torch", "jax", "keras", "numpy")) == ("jax", "keras", "numpy")
