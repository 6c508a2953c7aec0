"""`vigil verify` and `vigil golden`: what they refuse, what they ask for, what they print, and the exit code of each outcome."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vigil.cli.golden as golden_module
import vigil.cli.verify as module
from tests.reports.documents import TRAINING, a_document, a_failure, a_regression, write_verification
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import GoldenAnswer, VerifyAnswer
from vigil.cli.main import main
from vigil.documents.context import MODES
from vigil.documents.verification import Verification
from vigil.errors import CannotRun
from vigil.paths import project_root
from vigil.progress import RunDisplay
from vigil.recipes.loading import recipe_names
from vigil.runs.carry_out import read_invocation
from vigil.verify.golden import Golden
from vigil.verify.vote import Vote

ONE = ["verify", "resnet_cifar", "--framework", "torch", "--mode", "compile"]
ALL = ["verify", "resnet_cifar", "--all"]


@pytest.fixture
def asked(places, monkeypatch):
    """Return a function that makes verifications end as a document says; it gives the list of what was asked.

    Every framework counts as installed; nothing is started, drawn or uploaded.
    """
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    tape = SimpleNamespace(header={"recipe": a_document().recipe.as_json()})
    monkeypatch.setattr(
        module, "load_standard", lambda recipe, profile, *, data_directory: SimpleNamespace(name=recipe.name, tape=tape)
    )
    monkeypatch.setattr(module, "upload_or_note", lambda directory: asked.append(("upload", directory)))
    monkeypatch.setattr(module, "draw_picture", lambda directory: (directory / "verify.png").touch())
    asked: list[tuple] = []

    def make(*documents: Verification) -> list[tuple]:
        left = list(documents)

        def verify_context(standard, context, directory, **options) -> Verification:
            asked.append((context.text, options))
            document = (left.pop(0) if len(left) > 1 else left[0]).replace(command=options["command"])
            write_verification(directory, document)
            return document

        def verify_contexts(standard, contexts, runs, *, on_end, **options) -> list:
            results = []
            for number, context in enumerate(contexts, start=1):
                directory = runs / standard.name / context.text
                results.append((verify_context(standard, context, directory, **options), directory))
                on_end(number, *results[-1])
            return results

        monkeypatch.setattr(module, "verify_context", verify_context)
        monkeypatch.setattr(module, "verify_contexts", verify_contexts)
        return asked

    return make


@pytest.mark.parametrize(
    ("arguments", "found", "advice"),
    [
        (["verify", "resnet_cifar"], "--framework: missing", "or --all"),
        (["verify", "--framework", "torch"], "RECIPE: missing", "or --all"),
        ([*ONE, "--jobs", "2"], "--jobs: not allowed without --all", "leave it out"),
        ([*ONE, "--markdown", "x.md"], "--markdown: not allowed without --all", "leave it out"),
        ([*ALL, "--devices", "2"], "--devices: not allowed with --all", "leave it out"),
        ([*ALL, "--shards", "20,12"], "--shards: not allowed with --all", "leave it out"),
        ([*ALL, "--device", "tpu"], "--device: found 'tpu'", "Allowed: cpu, gpu."),
        ([*ALL, "--determinism", "on"], "--determinism: not allowed with --all", "leave it out"),
        ([*ALL, "--mode", "eager,jt"], "--mode: found 'jt'", "Did you mean jit?"),
        ([*ALL, "--precision", "fp31"], "--precision: found 'fp31'", "Did you mean fp32?"),
        ([*ALL, "--framework", "pytorch"], "--framework: found 'pytorch'", "Did you mean torch?"),
        ([*ALL, "--jobs", "0"], "--jobs: found '0'", "a whole number from 1"),
        ([*ONE, "--randomness", "native"], "--randomness: no such option", "Allowed: "),
        ([*ONE, "--devices", "2", "--shards", "20,20"], "shards: found 20+20 = 40", "batch size, 32"),
        ([*ONE, "--fault", "gone.py"], "--fault: gone.py: no such file", "install()"),
        (["golden", "resnet_cifar", "--late", "1"], "--late: found '1'", "from 2 to 1199"),
        (["golden", "resnet_cifr"], "recipe: found 'resnet_cifr'", "Did you mean resnet_cifar?"),
    ],
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_wrong_use_is_one_message_and_exit_code_2(asked, places, capsys, arguments, found, advice):
    """The message says what was found and what to do, and nothing is asked of a runner."""
    made = asked(a_document())
    code = main(arguments)
    captured = capsys.readouterr()
    assert (code, captured.out, made) == (2, "", [])
    assert found in captured.err
    assert advice in captured.err or "without --all" in captured.err
    assert not places.exists()


@pytest.mark.parametrize(
    ("document", "code", "word"),
    [
        (a_document(), 0, "reproduced: 589 tensors"),
        (a_regression(), 1, "REGRESSED: 9 of 589"),
        (a_regression(verdict={"name": "known-finding", "reason": "9 are out"}), 1, "KNOWN-FINDING"),
        (a_failure("failed:hang"), 3, "FAILED:HANG"),
        (a_failure("unsupported"), 3, "UNSUPPORTED"),
    ],
    ids=["reproduced", "regressed", "known", "failed", "unsupported"],
)
def test_one_context_ends_with_its_block_and_exit_code(asked, capsys, document, code, word):
    """Each verdict has its code; a picture is drawn where there are tensors, and what there is is uploaded."""
    made = asked(document)
    assert main(ONE) == code
    out = capsys.readouterr().out
    assert word in out
    (text, options), (_, directory) = made
    assert text == "torch-compile-fp32-x1"
    assert options["command"] == "vigil " + " ".join(ONE)
    assert str(directory) in out
    assert (directory / "verify.png").exists() is bool(document.tensors)


def test_the_next_command_keeps_profile_and_fault(asked, capsys, tmp_path):
    """What is suggested verifies the same thing, apart from the one change."""
    fault = tmp_path / "a fault.py"
    fault.write_text("def install(): ...")
    regression = a_regression()
    made = asked(regression.replace(recipe=regression.recipe.model_copy(update={"profile": "smoke"})))
    assert main([*ONE, "--profile", "smoke", "--fault", str(fault)]) == 1
    expected = f"vigil verify resnet_cifar --profile smoke --framework torch --mode eager --precision fp32 --fault '{fault}'"
    assert expected in capsys.readouterr().out
    assert made[0][1]["fault"]["name"] == "a fault"


def test_an_interrupted_verification_has_no_verdict(asked, capsys):
    """Ctrl-C is exit code 3 and one line; nothing is uploaded."""
    made = asked(a_failure("failed:interrupted"))
    assert main(ONE) == 3
    assert capsys.readouterr().out.startswith("Interrupted in phase build.")
    assert [what for what, _ in made] == ["torch-compile-fp32-x1"]


def test_a_missing_tape_is_exit_code_3_with_what_to_do(asked, capsys, monkeypatch, places):
    """Without a standard nothing runs and no directory is made."""

    def missing(*facts, **options):
        raise CannotRun("no golden tape. Make one with `vigil golden`")

    asked(a_document())
    monkeypatch.setattr(module, "load_standard", missing)
    assert main(ONE) == 3
    assert "vigil golden" in capsys.readouterr().err
    assert not places.exists()


def test_all_covers_every_mode_precision_and_three_ways_of_devices(asked, capsys, tmp_path):
    """36 contexts a framework, uneven shards of the recipe's own batch, each a line and a row, and the table in a file."""
    made = asked(a_document())
    table = tmp_path / "table.md"
    assert main([*ALL, "--framework", "torch,jax", "--jobs", "2", "--markdown", str(table)]) == 0
    texts = [text for text, _ in made if text != "upload"]
    assert len(texts) == len(set(texts)) == 2 * len(MODES) * 4 * 3
    assert {"torch-eager-fp32-x1", "jax-compile-fp64-x2", "torch-jit-fp16-x2-s20+12"} <= set(texts)
    assert [what for what, _ in made].count("upload") == 72
    out = capsys.readouterr().out
    assert "[72/72]" in out
    assert table.read_text().count("torch-compile-fp32-x1") == 72
    assert made[0][1]["jobs"] == 2


def test_all_without_a_recipe_is_all_of_all(asked, capsys, tmp_path):
    """Every recipe has a table; uneven shards are whole parts of a batch where its recipe has parts."""
    made = asked(a_document())
    table = tmp_path / "table.md"
    shown = ["--framework", "torch", "--mode", "eager", "--precision", "fp32", "--markdown", str(table)]
    assert main(["verify", "--all", *shown]) == 0
    texts = [text for text, _ in made if text != "upload"]
    assert len(texts) == 3 * len(recipe_names())
    assert {"torch-eager-fp32-x2-s20+12", "torch-eager-fp32-x2-s48+16"} <= set(texts)
    assert "[3/3] moco_lite torch-" in capsys.readouterr().out
    assert table.read_text().count("| context |") == len(recipe_names())


@pytest.mark.parametrize(
    ("documents", "code"),
    [
        ([a_document(), a_failure("unsupported")], 0),
        ([a_document(), a_failure("failed:crash")], 3),
        ([a_failure("failed:crash"), a_regression()], 1),
        ([a_failure("unsupported")], 3),
    ],
)
def test_the_worst_context_decides_the_exit_code(asked, documents, code):
    """A wrong step comes before a crash, a crash before nothing found, and a refusal counts as nothing."""
    asked(*documents)
    assert main([*ALL, "--framework", "jax", "--mode", "jit", "--precision", "fp32,bf16"]) == code


def test_every_context_is_in_the_answer(asked, capsys):
    """The documents of `--all` in one, and of one context the document itself."""
    asked(a_document(), a_failure("failed:crash"))
    found = answer_of(capsys, VerifyAnswer, *ALL, "--framework", "jax", "--mode", "jit", "--precision", "fp32")
    assert [each.verdict.name for each in found.verifications] == ["reproduced", "failed:crash", "failed:crash"]
    assert found.exit_code == 3
    asked(a_regression())
    single = answer_of(capsys, Verification, *ONE)
    assert single == a_regression().replace(command=single.command)


def test_progress_tells_case_and_count_in_a_log(tmp_path, capsys, monkeypatch):
    """Not on a terminal: plain lines, at most one in ten seconds, that tell how many of how many are done."""
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "cases.json").write_text(json.dumps([{"name": "a"}, {"name": "b"}, {"name": "c"}]))
    clock = [0.0]
    monkeypatch.setattr("vigil.progress.time", SimpleNamespace(monotonic=lambda: clock[0]))
    display = RunDisplay()
    tell = display.verify(tmp_path)
    tell({"kind": "started", "framework": "torch"})
    for index, name in enumerate("abc"):
        clock[0] += 6.0
        tell({"kind": "probed", "index": index, "name": name, "seconds": 0.51})
    display.verified(a_document())
    assert capsys.readouterr().err.splitlines() == [
        "verify: starting", "verify: 1 of 2: every tensor of single steps, 2/3 cases, b 0.5 s", "verify: reproduced after 21 s",
    ]  # fmt: skip


@pytest.mark.parametrize(("options", "verify"), [([], "unknown"), (["--no-verify"], None)])
def test_reproduce_verifies_first_unless_told_not_to(scripted, places, monkeypatch, capsys, options, verify):
    """Without a tape the rung says `unknown`; with `--no-verify` there is none. The metric's exit code is the same."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    scripted({0: 80.0})
    assert main(["reproduce", "resnet_cifar", "--framework", "torch", "--profile", "smoke", *options]) == 4
    (directory,) = places.iterdir()
    summary = read_invocation(directory).verify
    assert (summary and summary.name) == verify
    shown = capsys.readouterr()
    assert ("no golden tape" in " ".join(shown.out.split())) is bool(verify)
    told = shown.err.split("verify: unknown: ")
    assert len(told) == (2 if verify else 1)
    assert not verify or ("no golden tape" in told[1] and "seed 0" not in told[0])  # before a run is trained


@pytest.fixture
def voting(places, monkeypatch, tmp_path):
    """Return a function that makes the vote end as standings say, on a tape without content."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    tape = Golden({"schema": 1}, TRAINING, {}, None, [], {}, {}, {})
    saved: list[dict] = []

    def make_golden(*, progress, late, vote, **options) -> Golden:
        options.pop("announce")(200.0, 5.0, "24 steps of the oracle")
        progress("noise floors", 1, 1)
        saved.append({"late": late, **options})
        vote(tape, threading.Event())
        return dataclasses.replace(tape, header={"schema": 1, "recipe": options["recipe"]})

    def save(path: Path, tape: Golden) -> None:
        path.write_bytes(np.zeros(4).tobytes())
        saved.append(tape.header)

    monkeypatch.setattr(golden_module, "make_golden", make_golden)
    monkeypatch.setattr(golden_module, "save_golden", save)
    monkeypatch.setattr(golden_module, "path_of", lambda *names, source: tmp_path / "golden.npz")

    def make(votes: dict[str, Vote]) -> list[dict]:
        def voted(tape, directory, *, data_directory, on_event, frameworks, pythons, stop):
            return {name: each for name, each in votes.items() if name in ("oracle", *frameworks)}

        monkeypatch.setattr(golden_module, "vote", voted)
        return saved

    return make


AGREEING = {name: Vote("1.0", True, 2e-13, "late/full", "loss") for name in ("oracle", "torch", "tensorflow", "jax")}


def test_a_tape_that_all_agree_on_is_saved_with_its_votes(voting, capsys):
    """Its header says when, where, from which commit and by whose votes; exit code 0."""
    saved = voting(AGREEING)
    assert main(["golden", "resnet_cifar", "--late", "100"]) == 0
    asked, header = saved
    assert asked["late"] == 100
    assert header["votes"]["jax"] == {"version": "1.0", "agrees": True, "largest": 2e-13, "case": "late/full", "tensor": "loss"}
    assert {"created", "hardware", "commit", "python", "dirty"} <= set(header)
    captured = capsys.readouterr()
    assert "jax (1.0): agrees, at most 2.0e-13 of a norm away, in late/full loss" in captured.out
    assert "noise floors: 100%" in captured.err
    assert "about 4 min: 24 steps of the oracle, then the votes of oracle, torch, tensorflow, jax" in captured.err


def test_a_tape_that_one_framework_leaves_is_not_saved(voting, capsys):
    """The dissenter is the finding: named with the tensor and the distance, exit code 1, and nothing is written."""
    saved = voting(AGREEING | {"jax": Vote("0.10.2", False, 3.1e-7, "early/margin", "stats/stem.bn.mean")})
    assert main(["golden", "resnet_cifar"]) == 1
    assert len(saved) == 1
    out = capsys.readouterr().out
    assert "jax (0.10.2): LEFT THE OTHERS in early/margin stats/stem.bn.mean, 3.1e-07 of its norm away" in out
    assert "torch (1.0): agrees" in out
    assert "No tape is saved" in out


def test_the_votes_are_an_answer(voting, capsys, tmp_path):
    """By voter, with the tape; where one leaves the others there is no path."""
    voting(AGREEING)
    found = answer_of(capsys, GoldenAnswer, "golden", "resnet_cifar")
    assert (found.path, set(found.votes)) == (str(tmp_path / "golden.npz"), set(AGREEING))
    voting(AGREEING | {"jax": Vote("0.10.2", False, 3.1e-7, "early/margin", "stats/stem.bn.mean")})
    found = answer_of(capsys, GoldenAnswer, "golden", "resnet_cifar")
    assert (found.exit_code, found.path, found.votes["jax"].agrees) == (1, None, False)
    assert Path(found.directory).is_dir()


def test_a_tape_needs_all_three_frameworks(voting, capsys, monkeypatch):
    """What is missing is named, with the command that installs it, before anything is computed."""
    saved = voting(AGREEING)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jax" else object())
    assert main(["golden", "resnet_cifar"]) == 3
    assert "not installed: jax. Install with `make setup FRAMEWORK=jax`" in capsys.readouterr().err
    assert saved == []


def test_an_own_recipe_needs_one_framework_and_the_tape_says_who_voted(voting, capsys, monkeypatch, tmp_path):
    """Who has no vote is said before the work; the header has those that voted; the command to go on with is printed."""
    saved = voting(AGREEING)
    text = (project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text.replace("\nname: resnet_cifar\n", "\nname: mine\n", 1), encoding="utf-8")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("torch", "tensorflow") else object())
    monkeypatch.chdir(tmp_path)
    assert main(["golden", "mine.yaml"]) == 0
    assert list(saved[1]["votes"]) == ["oracle", "jax"]
    captured = capsys.readouterr()
    assert "then the votes of oracle, jax (torch, tensorflow: not installed, no vote)" in captured.err
    assert "go on with: vigil verify mine.yaml --framework jax" in captured.out
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["golden", "mine.yaml"]) == 3
    assert "what the oracle and a framework agree on; not installed: torch, tensorflow, jax" in capsys.readouterr().err
