"""`vigil narrow` from end to end: releases on a shelf, each in an environment of its own, and what is told of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vigil.narrow.conftest import RELEASES
from vigil.cli.main import main
from vigil.cli.narrow import held_beside
from vigil.documents.narrowing import Narrowing
from vigil.errors import EnvironmentFailed
from vigil.narrow.narrow import Written, written_in
from vigil.narrow.outcome import WRONG, Outcome
from vigil.narrow.probes import FOLDER
from vigil.releases import installer, store

MAKE_VENV = store._make_venv
SCRIPT = '''"""jax.thing is wrong in some releases."""
import jax, jaxlib
version = tuple(map(int, jax.__version__.split(".")))
got = {rule}
print("RIGHT" if got == 1.0 else "WRONG", "got", got, "expected", 1.0)
raise SystemExit(got != 1.0)
'''


@pytest.fixture
def on_shelf(shelf, tmp_path, monkeypatch) -> None:
    """Real wheels, which uv installs into real environments."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    for name in ("numpy", "flax", "optax"):
        shelf(name, "1.0")
    for version in RELEASES:
        shelf("jaxlib", version)
        shelf("jax", version, requires=("jaxlib",))


@pytest.fixture
def narrow(tmp_path, capfd):
    """Return a function that narrows a script by a rule, from the newest release, and returns exit code, document and output."""

    def run(rule: str, *more: str, text: str = SCRIPT) -> tuple[int, Narrowing, str]:
        script = tmp_path / "script.py"
        script.write_text(text.format(rule=rule))
        code = main(["narrow", str(script), "--release", "jax==0.9.0", "--json", str(tmp_path / "answer.json"), *more])
        return code, Narrowing.parse((tmp_path / "answer.json").read_text(), where="answer"), capfd.readouterr().out

    return run


def test_the_release_and_the_package_that_brought_it_are_told(written, narrow) -> None:
    code, found, out = narrow("2.0 if version >= (0, 4, 0) else 1.0", "--since")
    assert code == 0
    [change] = found.releases.changes
    assert (change.last_before, change.first, change.last, change.is_decided) == ("0.3.0", "0.4.0", "0.4.0", True)
    assert {each.package: each.outcome for each in change.mixed} == {"jax": "wrong", "jaxlib": "right"}
    assert change.carriers == ("jax",)
    assert found.releases.says == "jax 0.1.0 right, wrong since 0.4.0"
    assert "jax 0.1.0 right, wrong since 0.4.0" in " ".join(out.split())
    report = (Path(found.script.path).parent / "report.md").read_text()
    assert "import jax, jaxlib" in report
    assert "| 0.4.0 | wrong |" in report


def test_what_a_sibling_carries_is_told_apart(on_shelf, narrow) -> None:
    """Here with wheels, uv, and environments as they are."""
    rule = "2.0 if jaxlib.__version__ >= '0.6.0' else 1.0"
    _, found, _ = narrow(rule, "--since")
    [change] = found.releases.changes
    assert (change.first, change.carriers) == ("0.6.0", ("jaxlib",))
    assert found.releases.says == "jax 0.1.0 right, wrong since 0.6.0 with jaxlib"


def test_a_history_of_several_changes_is_told_as_it_is(written, narrow) -> None:
    """Right, wrong, wrong in another way, right, and wrong again."""
    rule = "[1, 2, 2, 0.5, 0.5, 1, 1, 2, 2][version[1] - 1]"
    _, found, _ = narrow(rule, "--since", "--jobs", "4")
    assert found.releases.says == (
        "jax 0.1.0 right, wrong since 0.2.0 with jax, wrong otherwise since 0.4.0, right since 0.6.0, wrong since 0.8.0 with jax"
    ).replace(" with jax", "")


def test_no_release_is_to_blame(written, narrow) -> None:
    code, found, _ = narrow("2.0", "--since")
    assert code == 0
    assert found.releases.changes == ()
    assert found.releases.says == "jax 0.1.0 to 0.9.0 are wrong in every release looked at: no release among them is to blame"


def test_what_is_right_here_is_not_searched_for(written, narrow) -> None:
    code, found, _ = narrow("1.0", "--since")
    assert (code, found.state, found.releases) == (1, "does not show", None)
    assert "20 runs are right" in found.reason


def test_a_release_that_does_not_start_is_passed_over(written, narrow) -> None:
    text = SCRIPT.replace("got = {rule}", "if version[1] == 4: raise ImportError('moved')\ngot = {rule}")
    _, found, _ = narrow("2.0 if version[1] >= 4 else 1.0", "--since", text=text)
    [change] = found.releases.changes
    assert (change.last_before, change.first, change.last) == ("0.3.0", "0.4.0", "0.5.0")
    [look] = [each for each in found.releases.looks if each.version == "0.4.0"]
    assert (look.outcome, look.says) == ("another failure", "ImportError: moved")


def test_a_function_that_is_wrong_since_there_is_one(written, narrow) -> None:
    text = SCRIPT.replace("got = {rule}", "if version[1] < 4: raise AttributeError('no thing')\ngot = {rule}")
    _, found, _ = narrow("2.0", "--since", text=text)
    assert found.releases.says == "jax 0.4.0 to 0.9.0 are wrong, and 0.3.0 gives no evidence: AttributeError: no thing"


def test_nothing_is_probed_twice(written, narrow, cache) -> None:
    narrow("2.0 if version >= (0, 4, 0) else 1.0", "--since")
    [path] = (cache.parent / FOLDER).glob("*.jsonl")
    before = path.read_text()
    _, found, _ = narrow("2.0 if version >= (0, 4, 0) else 1.0", "--since")
    assert path.read_text() == before
    assert found.releases.changes[0].first == "0.4.0"


def test_an_index_that_cannot_be_reached_is_one_line(written, tmp_path, monkeypatch, capfd) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(rule="2.0"))
    monkeypatch.undo()
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert main(["narrow", str(script), "--python", sys.executable, "--since", "--package", "no-such-package"]) == 3
    assert capfd.readouterr().err.count("vigil: ") == 1


@pytest.mark.parametrize("problem", ["resolve", "install"])
def test_a_search_that_broke_off_goes_on_where_it_was(written, narrow, tmp_path, cache, problem, capfd) -> None:
    """The disk is full, or the index is gone, in the middle: one line, and what was found is not asked again."""
    script, rule = tmp_path / "script.py", "2.0 if version >= (0, 4, 0) else 1.0"
    script.write_text(SCRIPT.format(rule=rule))

    def breaks(*arguments, what, **facts):
        raise EnvironmentFailed(f"{what}: cannot be had", log_tail=["No space left on device"], may_pass=True)

    with pytest.MonkeyPatch.context() as patched:
        real, calls = getattr(installer, problem), []

        def later(*arguments, **facts):
            calls.append(facts["what"])
            return (real if len(calls) < {"resolve": 8, "install": 5}[problem] else breaks)(*arguments, **facts)

        patched.setattr(installer, problem, later)
        assert main(["narrow", str(script), "--release", "jax==0.9.0", "--since", "--jobs", "1"]) == 3
    assert capfd.readouterr().err.count("vigil: ") == 1
    [path] = (cache.parent / FOLDER).glob("*.jsonl")
    before = path.read_text()
    assert before
    _, found, _ = narrow(rule, "--since", "--jobs", "1")
    assert path.read_text().startswith(before)
    assert found.releases.changes[0].first == "0.4.0"


@pytest.mark.parametrize(
    ("installed", "rule", "code", "said"),
    [
        ("0.5.0+cpu", "2.0 if version[1] == 5 else 1.0", 0, "jax 0.1.0 right, wrong since 0.5.0, right since 0.6.0"),
        ("0.5.0+cpu", "1.0", 4, "jax 0.5.0+cpu, in which it was seen, is right in an environment of its own"),
        ("0.5.1", "2.0 if version[1] > 5 else 1.0", 4, "in which it was seen, jax 0.5.1, is not among those that were searched"),
    ],
)
def test_the_release_in_which_it_was_seen_is_met_or_nothing_is_answered(
    written, narrow, monkeypatch, installed, rule, code, said
) -> None:
    """A build of another name is its release; what is right there, or was never looked at, makes no other release innocent."""
    monkeypatch.setattr("vigil.narrow.narrow.version_in", lambda pins, package: installed)
    monkeypatch.setattr(
        "vigil.narrow.narrow._runner", lambda *arguments: lambda fault: Outcome(WRONG, "WRONG got 2.0 expected 1.0", 0.0)
    )
    ended, found, _ = narrow(rule, "--since")
    assert (ended, found.state) == (code, "withheld" if code else "narrowed")
    assert said in found.releases.says


def test_a_search_ends_where_the_release_in_which_it_was_seen_says_nothing(written, narrow, monkeypatch) -> None:
    """Whatever other releases say, the answer would be withheld: none of them is built."""
    monkeypatch.setattr(
        "vigil.narrow.narrow._runner", lambda *arguments: lambda fault: Outcome(WRONG, "WRONG got 2.0 expected 1.0", 0.0)
    )
    ended, found, _ = narrow("2.0 if version < (0, 9, 0) else 1 / 0", "--since", "--jobs", "1")
    assert (ended, found.state, found.releases.rounds) == (4, "withheld", 1)
    assert "jax 0.9.0, in which it was seen, gives no evidence in an environment of its own" in found.releases.says


def test_no_room_for_an_environment_is_no_release_s_fault(written, narrow, tmp_path, monkeypatch, capfd) -> None:
    """Making the virtual environment fails: the search ends, and with room again the release is looked at."""
    script, rule = tmp_path / "script.py", "2.0 if version >= (0, 4, 0) else 1.0"
    script.write_text(SCRIPT.format(rule=rule))
    narrow(rule)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "_make_venv", MAKE_VENV)
        full = subprocess.CompletedProcess([], 1, "", "Error: [Errno 28] No space left on device")
        patched.setattr(store.subprocess, "run", lambda *arguments, **options: full)
        assert main(["narrow", str(script), "--python", sys.executable, "--since", "--jobs", "1"]) == 3
    capfd.readouterr()
    _, found, _ = narrow(rule, "--since")
    assert {each.outcome for each in found.releases.looks} == {"right", "wrong"}


def test_what_an_index_lacks_another_may_have(written, narrow, monkeypatch) -> None:
    """A release that could not be installed is asked for again where packages are looked for elsewhere."""
    rule, real = "2.0 if version >= (0, 4, 0) else 1.0", installer.resolve

    def lacking(requirements, *, indexes, what, **facts):
        if not indexes and "jax==0.1.0" in requirements:
            raise EnvironmentFailed(f"{what}: no set of packages fits", is_final=True)
        return real(requirements, indexes=indexes, what=what, **facts)

    monkeypatch.setattr(installer, "resolve", lacking)
    _, found, _ = narrow(rule, "--since", "--from", "0.1.0")
    assert found.releases.looks[0].outcome == "cannot be installed"
    _, found, _ = narrow(rule, "--since", "--from", "0.1.0", "--extra-index", "https://example.com/simple")
    assert found.releases.looks[0].outcome == "right"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py"], "no such file or directory"),
        (["{script}", "--from", "0.1.0"], "--from: found without --since"),
        (["{script}", "--since", "--from", "7.7"], "--from: found '7.7'"),
        (["{script}", "--since", "--from", "0.9.0", "--to", "0.2.0"], "newer than --to"),
        (["{none}"], "imports none of torch, tensorflow, jax"),
        (["{script}", "--since", "--hold", "optax"], "--hold: found 'optax', whose version is ''"),
        (["{script}", "--since", "--hold", "jax==0.1.0"], "--hold: found 'jax==0.1.0', and releases of jax are searched"),
        (["{script}", "--since", "--package", "optax", "--hold", "jax"], "--hold: found 'jax', which has no version"),
        (["{script}", "--framework", "jaks"], "--framework: found 'jaks'. Allowed: torch, tensorflow, jax. Did you mean jax?"),
        (["{text}"], "cannot be read as Python"),
    ],
)
def test_wrong_usage_is_exit_code_2(written, tmp_path, capfd, arguments, said) -> None:
    files = {"script": SCRIPT.format(rule="2.0"), "none": "print('WRONG')", "text": "this is no Python"}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    given = [each.format(**{name: tmp_path / f"{name}.py" for name in files}) for each in arguments]
    assert main(["narrow", *given, "--release", "jax==0.9.0"]) == 2
    assert said in capfd.readouterr().err


def test_a_framework_that_is_named_needs_no_import(tmp_path) -> None:
    """As where a script imports it by a name that it makes."""
    script = tmp_path / "script.py"
    script.write_text("print('WRONG')")
    assert written_in(script, "jax") == Written("jax", ("jax",), "jax")


def test_a_framework_is_held_beside_a_library() -> None:
    held = held_beside(["jax==0.10.2", "numpy==2.4.6"], "jax", "optax")
    assert held == ("jax==0.10.2", "numpy==2.4.6")


def test_the_document_is_the_answer(written, narrow, tmp_path) -> None:
    narrow("2.0")
    content = json.loads((tmp_path / "answer.json").read_text())
    assert content["script"]["says"] == "WRONG got 2.0 expected 1.0"
    assert (content["script"]["wrong"], content["script"]["runs"]) == (4, 4)


@pytest.mark.parametrize(
    ("about", "imports", "package"),
    [
        ("jax.nn.softmax is off.", "import jax\nfrom flax import nnx", "jax"),
        ("flax.nnx.BatchNorm is off.", "import jax\nfrom flax import nnx", "flax"),
        ("Keras 3.15.1 on JAX 0.10.2: off.", "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport keras, jax", "keras"),
        ("optax.adam is off.", "import jax, optax", "optax"),
        ("A race.", "import jax\nimport optax", "optax"),
    ],
)
def test_the_package_that_a_script_is_about_is_searched(tmp_path, about, imports, package) -> None:
    """By what its first line names, for a script made by an audit imports all that its way of calling does."""
    script = tmp_path / "script.py"
    script.write_text(f'"""{about}"""\n{imports}\n')
    assert written_in(script).package == package
