"""The command line: wrong use is one message and exit code 2, what cannot run is 3, and neither shows a traceback."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import re
import shlex
import shutil
import socket
import sys
from unittest.mock import Mock

import pytest

import vigil.cli.main
import vigil.cli.options
import vigil.data.official
import vigil.paths
import vigil.process.environment
import vigil.runs.carry_out
from tests.vigil.json_answer import answer_of
from tests.vigil.scripted import end_run
from vigil.cli.answers import MatrixAnswer
from vigil.cli.help_text import EXAMPLES, GROUPS
from vigil.cli.main import VERBS, build_parser, main
from vigil.documents.record import Record
from vigil.recipes.loading import load_recipe, recipe_names

SUPERSEDE = ["reference", "supersede", "resnet_cifar", "--profile", "quick"]
REASON = "Measured with the wrong padding at stride 2"
REPRODUCE = ["reproduce", "resnet_cifar", "--framework", "torch", "--profile", "smoke"]


@pytest.fixture
def command(places, monkeypatch, capsys):
    """Return a function that runs a command line; it gives the exit code, standard output and standard error.

    Nothing is installed as far as the command can see, and a run that starts fails the test.
    """
    monkeypatch.setattr(vigil.process.environment.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(vigil.runs.carry_out, "execute", lambda *facts, **options: pytest.fail("a run was started"))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run


WRONG = [
    (["reproduce", "resnet_cifr", "--framework", "torch"], "recipe: found 'resnet_cifr'", "Did you mean resnet_cifar?"),
    (["reproduce", "resnet_cifar", "--framework", "pytorch"], "torch, tensorflow, jax", "Did you mean torch?"),
    ([*REPRODUCE, "--mode", "compiled"], "eager, jit, compile", "Did you mean compile?"),
    ([*REPRODUCE, "--precision", "bf1"], "fp32, bf16, fp16, tf32, fp64", "Did you mean bf16?"),
    ([*REPRODUCE, "--profile", "smok"], "smoke, quick, paper", "Did you mean smoke?"),
    ([*REPRODUCE, "--device", "cpus"], "cpu, gpu", "Did you mean cpu?"),
    ([*REPRODUCE, "--determinism", "onn"], "off, on", "Did you mean on?"),
    ([*REPRODUCE, "--randomness", "share"], "shared, native", "Did you mean shared?"),
    (["reprodce", "resnet_cifar"], "invalid choice: 'reprodce'", "Did you mean reproduce?"),
    ([*REPRODUCE, "--precison", "bf16"], "--precison: no such option", "Did you mean --precision?"),
    ([*REPRODUCE, "--seed", "3"], "--seed: no such option", "Did you mean --seeds?"),
    ([*REPRODUCE, "--devices", "-1"], "devices: found '-1'", "a whole number, 1 or more"),
    ([*REPRODUCE, "--devices", "0"], "devices: found '0'", "a whole number, 1 or more"),
    ([*REPRODUCE, "--devices", "two"], "devices: found 'two'", "a whole number, 1 or more"),
    ([*REPRODUCE, "--devices", "1.5"], "devices: found '1.5'", "a whole number, 1 or more"),
    ([*REPRODUCE, "--devices", "65"], "devices: found 65", "at most one for each image of a batch of 64"),
    ([*REPRODUCE, "--seeds", "0"], "--seeds: found '0'", "a whole number from 1 to 10000"),
    ([*REPRODUCE, "--seeds", "99999999999"], "--seeds: found '99999999999'", "a whole number from 1 to 10000"),
    ([*REPRODUCE, "--first-seed", "-1"], "--first-seed: found '-1'", "a whole number from 0"),
    ([*REPRODUCE, "--first-seed", "9" * 25], "--first-seed: found", "a whole number from 0 to 2147483647"),
    ([*REPRODUCE, "--hang-timeout", "soon"], "--hang-timeout: found 'soon'", "a number of seconds above 0"),
    ([*REPRODUCE, "--hang-timeout", "nan"], "--hang-timeout: found 'nan'", "a number of seconds above 0"),
    ([*REPRODUCE, "--devices", "2", "--shards", "30,30"], "shards: found 30+30 = 60", "batch size, 64"),
    ([*REPRODUCE, "--shards", "32,32"], "shards: found 2 sizes", "one for each device"),
    ([*REPRODUCE, "--fault", "gone.py"], "--fault: gone.py: no such file", "a Python file that defines install()"),
    ([*REPRODUCE, "--fault", "~no_such_user/gone.py"], "~no_such_user/gone.py: there is no such home", "the whole path"),
    (["resume", __file__], "holds no invocation.json", "Give an invocation directory"),
    (["reproduce", "resnet_cifar"], "--framework: missing", "or --release, which names its framework"),
    ([], "required: VERB", "vigil --help"),
    (["reproduce", "gone.yaml", "--framework", "torch"], "gone.yaml: cannot be read", "Allowed: a file"),
    (["matrix", "resnet_cifar", "--mode", "eager,jt"], "--mode: found 'jt'", "Did you mean jit?"),
    (["matrix", "resnet_cifar", "--framework", "torch,jaxx"], "--framework: found 'jaxx'", "Did you mean jax?"),
    (["matrix", "resnet_cifar", "--devices", "1,0"], "--devices: found '0'", "a whole number from 1"),
    (["matrix", "resnet_cifar", "--jobs", "0"], "--jobs: found '0'", "a whole number from 1"),
    (["matrix", "resnet_cifar", "--framework", "torch,torch"], "--framework: found torch twice", "each once"),
    (["matrix", "resnet_cifar", "--framework", ""], "--framework: found ''", "torch, tensorflow, jax"),
    (["matrix", "resnet_cifar", "--devices", "1,01"], "--devices: found 1 twice", "each once"),
    (["matrix", "resnet_cifar", "--markdown", "."], "--markdown: found ., a directory", "Allowed: a file"),
    (["matrix", "resnet_cifar", "--markdown", "gone/x.md"], "--markdown: found gone/x.md", "there is no directory gone"),
    (["compare", "resnet_cifar", "jax==0.9.2", "jax", "--markdown", "gone/x.md"], "--markdown: found gone", "directory gone"),
    (["verify", "resnet_cifar", "--all", "--markdown", "gone/x.md"], "--markdown: found gone/x.md", "directory gone"),
    (["verify", "resnet_cifar", "--all", "--mode", ""], "--mode: found ''", "eager, jit, compile"),
    (["reference", "diff", "--markdown", "gone/x.md"], "--markdown: found gone/x.md", "directory gone"),
    (["drift", "--json", "gone/x.json"], "--json: found gone/x.json", "directory gone"),
    (["nightly", "--budget", "9" * 400 + "h"], "--budget: found", "a number above 0 with s, m or h"),
    (["reference", "add", "resnet_cifar", "--framework", "jax,jax"], "--framework: found jax twice", "each once"),
    (["power", "resnet_cifar", "--seeds", "1,2,1"], "--seeds: found 1 twice", "each once"),
    (["reference", "add", "resnet_cifar", "--framework", "pytorch"], "--framework: found 'pytorch'", "Did you mean torch?"),
    (["reference", "resnet_cifar", "--framework", "torch"], "invalid choice: 'resnet_cifar'", "`vigil reference add RECIPE ...`"),
    (["reference"], "required: ACTION", "vigil reference --help"),
    (["reference", "add", "resnet_cifar", "--force"], "--force: no such option of `vigil reference add`", "Allowed: --help"),
    (["reference", "add", "resnet_cifar", "--no-verify"], "--no-verify: no such option of `vigil reference add`", "Allowed: "),
    (["reference", "add", "resnet_cifar", "--fault", "x.py"], "--fault: no such option of `vigil reference add`", "Allowed: "),
    (["reference", "show", "resnet_cifr"], "recipe: found 'resnet_cifr'", "Did you mean resnet_cifar?"),
    (["reference", "show", "--profile", "quik"], "--profile: there are no samples of profile 'quik'", "resnet_cifar"),
    (["reference", "diff", "no_such_branch"], "BASE: found 'no_such_branch'", "Allowed: a revision"),
    (["reference", "supersede", "resnet_cifar", "--reason", "x"], "required: --profile", "vigil reference supersede --help"),
    (["reference", "supersede", "resnet_cifar", "--profile", "quick"], "required: --reason", "supersede --help"),
    ([*SUPERSEDE, "--reason", " "], "--reason: found ''", "a sentence of 20 characters or more"),
    ([*SUPERSEDE, "--reason", "aaaaaaaaaaaaaaaaaaaaaaaaa"], "--reason: found 'aaaa", "what is wrong with these samples"),
    ([*SUPERSEDE, "--reason", REASON, "--framework", "jx"], "--framework: found 'jx'", "Did you mean jax?"),
    ([*SUPERSEDE, "--reason", REASON, "--release", "1.0"], "--release: resnet_cifar, profile quick has no", "2.21.0"),
    (["resume", "nowhere"], "holds no invocation.json", "Give an invocation directory"),
    (["dashboard", "--port", "none"], "--port: found 'none'", "1 to 65535"),
    (["check", "gone.yaml"], "gone.yaml: cannot be read", "Allowed: a file"),
    (["recipes", "resnet_cifar"], "resnet_cifar: one argument more than `vigil recipes` takes", "vigil recipes --help"),
    (["init", "torch", "--operator", "op.py"], "op.py: one argument more", "one behind an option"),
    (["nightly", "audt"], "RECIPE: found 'audt'", "Did you mean audit?"),
    (["replay", "nowhere"], "nowhere: no such directory", "that of a run or of an invocation"),
    (["audit", "--framework", "tensorflow", "--device", "gpu"], "--device: found gpu", "those of torch and jax"),
    (["verify", "resnet_cifar", "--framework", "jax", "--precision", "FP32"], "'FP32'", "Did you mean fp32?"),
]


@pytest.mark.parametrize(("arguments", "found", "advice"), WRONG, ids=[" ".join(case[0])[-50:] for case in WRONG])
def test_wrong_use_is_one_message_and_exit_code_2(command, places, tmp_path, monkeypatch, arguments, found, advice):
    """The message says what was found and what is allowed; nothing is printed beside it and nothing is made."""
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*arguments)
    assert code == 2
    assert found in err
    assert advice in err
    assert err.startswith("vigil: ")
    assert err.count("\n") == 1
    assert out == ""
    assert not places.exists()


@pytest.fixture
def recipe_file(tmp_path):
    """Return a function that writes the shipped recipe with one text replaced, and returns its path."""
    shipped = (vigil.paths.project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")

    def write(old: str, new: str) -> str:
        assert shipped.count(old) == 1
        (tmp_path / "mine.yaml").write_text(shipped.replace(old, new), encoding="utf-8")
        return str(tmp_path / "mine.yaml")

    return write


@pytest.mark.parametrize("verb", ["reproduce", "check"])
@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("  dampening: 0.0", "  dampning: 0.0", ["optimizer.dampning: found an unknown key", "mean dampening?"]),
        ("  dampening: 0.0", "  dampening: none", ["optimizer.dampening: found"]),
        ("version: 1", "version: 1: 2", [r"not a recipe's YAML"]),
        ("metric: {name", "metric: {{name", [r"not a recipe's YAML"]),
    ],
)
def test_a_broken_recipe_is_told_with_file_and_line(command, recipe_file, verb, old, new, messages):
    """An unknown key, a wrong value and broken YAML are exit code 2, each with its place."""
    path = recipe_file(old, new)
    code, _, err = command(verb, path, *(["--framework", "torch"] if verb == "reproduce" else []))
    assert code == 2
    assert re.search(re.escape(path) + r":\d+(:\d+)?: ", err)
    assert all(message in err for message in messages)


def test_a_recipe_of_ones_own_is_accepted(command, recipe_file):
    """A path is as good as a name; `check` prints the hash of each profile."""
    code, out, _ = command("check", recipe_file("    batch_size: 128", "    batch_size: 64"))
    assert code == 0
    assert re.search(r"smoke [0-9a-f]{12}, quick [0-9a-f]{12}, paper [0-9a-f]{12}", out)


def test_a_missing_framework_is_exit_code_3_with_its_command(command, places, monkeypatch):
    """What is not installed is named, with the command that installs it, before anything is made."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flax" else object())
    code, _, err = command("reproduce", "resnet_cifar", "--framework", "jax", "--profile", "smoke")
    assert code == 3
    assert "flax not found" in err
    assert "make setup FRAMEWORK=jax" in err
    assert not places.exists()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for verb in (["matrix"], ["reference", "add"]):
        code, _, err = command(*verb, "resnet_cifar")
        assert (code, "no framework is installed" in err) == (3, True)


def test_a_runs_directory_that_cannot_be_written_is_exit_code_3(command, tmp_path, monkeypatch):
    """Said before training, with the variable that names another place."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "file" / "runs"))
    code, _, err = command(*REPRODUCE)
    assert code == 3
    assert f"{tmp_path}/file/runs: cannot be written" in err
    assert "Set VIGIL_RUNS_DIR" in err


def test_a_full_disk_is_exit_code_3(command, places, monkeypatch):
    """Said before training, with what is free and what is needed."""
    usage = type("Usage", (), {"free": 5 * 2**20})()
    monkeypatch.setattr(vigil.process.directories.shutil, "disk_usage", lambda path: usage)
    code, _, err = command(*REPRODUCE)
    assert code == 3
    assert f"{places}: 5 MiB free, 300 MiB are needed" in err
    assert list(places.iterdir()) == []


def test_missing_data_without_a_network_is_exit_code_3(command, tmp_path, monkeypatch):
    """The message says which file to put where; nothing has been trained."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    monkeypatch.setattr(vigil.data.official, "ARCHIVE_URL", f"http://127.0.0.1:{port}/cifar-10-python.tar.gz")
    code, _, err = command("reproduce", "resnet_cifar", "--framework", "torch", "--profile", "paper")
    assert code == 3
    assert str(tmp_path / "data" / "cifar-10-python.tar.gz") in err
    assert vigil.data.official.ARCHIVE_MD5 in err


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)], ids=" ".join)
def test_help_is_exit_code_0(arguments, capsys):
    """Help of the command and of every verb prints and ends well."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    assert (ended.value.code, captured.err) == (0, "")
    assert "vigil" in captured.out


def test_help_lists_every_verb_and_the_exit_codes(capsys):
    """The first help a user sees names what there is."""
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {verb}\s", text, re.MULTILINE) for verb in VERBS)
    assert "0 reproduced, 1 outside the band, 2 wrong usage" in " ".join(text.split())


def test_a_file_that_cannot_be_written_after_the_work_is_a_line(command, scripted, tmp_path, monkeypatch):
    """The disk may fill while cells run: the table has been printed, and then one line says what is missing."""
    scripted({0: 80.0})
    monkeypatch.setattr(vigil.cli.options, "check_file", lambda option, path: None)
    matrix = ["matrix", "resnet_cifar", "--profile", "smoke", "--framework", "torch", "--mode", "jit", "--precision", "fp32"]
    code, out, err = command(*matrix, "--devices", "1", "--markdown", str(tmp_path / "gone" / "x.md"))
    assert (code, "torch-jit-fp32-x1" in out) == (3, True)
    assert f"--markdown: {tmp_path}/gone/x.md cannot be written (No such file or directory)" in err


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "runs/x: No space left on device. Free some space, or set VIGIL_RUNS_DIR to another disk"),
        (errno.ENAMETOOLONG, "runs/x: File name too long."),
        (errno.EROFS, "runs/x: Read-only file system."),
    ],
)
def test_what_the_system_refuses_is_a_line(monkeypatch, capsys, number, said):
    """With the place and what to do; a loop of links is one as well."""
    monkeypatch.setattr(vigil.cli.options, "load_recipe", Mock(side_effect=OSError(number, os.strerror(number), "runs/x")))
    assert main(REPRODUCE) == 3
    assert f"vigil: {said}" in capsys.readouterr().err
    monkeypatch.setattr(vigil.cli.options, "load_recipe", Mock(side_effect=RuntimeError("Symlink loop from 'x'")))
    assert main(REPRODUCE) == 3
    assert capsys.readouterr().err == "vigil: Symlink loop from 'x'.\n"


def test_an_error_that_nobody_foresaw_is_no_number_outside_its_band(monkeypatch, capsys):
    """It keeps its traceback, and ends in 3: Python's own 1 would say that a number is outside its band."""
    monkeypatch.setattr(vigil.cli.options, "load_recipe", lambda name: 1 / 0)
    assert main(REPRODUCE) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["schema", "recipes"])
def test_a_reader_that_goes_early_ends_nothing_in_a_traceback(monkeypatch, capsys, verb):
    """As under `| head`, with more than a buffer of text or less: no traceback, and no exit code that is a verdict."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main([verb]) == 3
    assert capsys.readouterr().err == ""


def test_ctrl_c_outside_a_run_is_a_line(command, monkeypatch):
    """Ctrl-C before the first run starts is exit code 3 and one line."""

    def press(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vigil.cli.options, "load_recipe", press)
    assert command(*REPRODUCE) == (3, "", "vigil: interrupted\n")


def test_a_reproduction_ends_with_its_block_and_exit_code(command, scripted, places):
    """Three seeds without a reference end in `unknown`, exit code 4, with block, progress and the command on record."""
    scripted({0: 80.0, 1: 81.0, 2: 82.0})
    code, out, err = command(*REPRODUCE, "--seeds", "3")
    assert code == 4
    assert "UNKNOWN" in out
    assert "80.00 (seed 0), 81.00 (seed 1), 82.00 (seed 2); mean 81.00" in out
    assert "seed 1 (2/3)" in err
    (directory,) = places.iterdir()
    assert str(directory) in out
    invocation = vigil.runs.carry_out.read_invocation(directory)
    assert invocation.command == "vigil " + " ".join([*REPRODUCE, "--seeds", "3"])


@pytest.mark.parametrize(("outcome", "word"), [("nan_loss", "FAILED:NAN_LOSS"), ("unsupported", "UNSUPPORTED")])
def test_a_run_that_fails_is_exit_code_3(command, scripted, outcome, word):
    """A failure and a refusal both end in 3, and their reason is in the block."""
    scripted({0: outcome})
    code, out, _ = command(*REPRODUCE)
    assert code == 3
    assert word in out
    assert f"{outcome} on purpose" in out


def test_an_interrupted_command_says_how_to_go_on_and_does(command, scripted, places):
    """Exit code 3 and the resuming command; that command, on the run directory too, finishes what is left."""
    scripted({0: 80.0, 1: "interrupted"})
    code, out, _ = command(*REPRODUCE, "--seeds", "2")
    (directory,) = places.iterdir()
    assert code == 3
    assert f"Go on with: vigil resume {directory}" in out
    started = scripted({1: 81.0})
    started.clear()
    code, out, _ = command("resume", str(directory / "seed1"))
    assert (code, started) == (4, [("torch", 1)])
    assert "80.00 (seed 0), 81.00 (seed 1)" in out


@pytest.mark.parametrize("run", ["seed0", "seed1"])
def test_resume_judges_and_trains_nothing_beside_altered_events(command, scripted, places, run):
    """The events of a run that has ended, and of one that is to go on, are held to their records; nothing is started."""
    scripted({0: 80.0, 1: "interrupted"})
    command(*REPRODUCE, "--seeds", "2")
    (directory,) = places.iterdir()
    started = scripted({1: 81.0})
    started.clear()
    path = directory / run / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"2.5", b"1.5"))
    code, _, err = command("resume", str(directory))
    assert (code, started) == (3, [])
    assert f"{path}: its SHA-256 is not the one in record.json: it was altered, cut off or damaged. Restore it" in err
    assert len(err.strip().splitlines()) == 1


def test_runs_from_before_there_were_digests_go_on_and_it_is_said(command, scripted, places):
    """Once, and not of runs whose records list what they were made of."""
    scripted({0: 80.0, 1: "interrupted"})
    command(*REPRODUCE, "--seeds", "2")
    (directory,) = places.iterdir()
    Record.read(directory / "seed0").replace(files=None).write(directory / "seed0")
    scripted({1: 81.0})
    code, _, err = command("resume", str(directory))
    assert code == 4
    assert err.count("list no digests") == 1
    Record.read(directory / "seed0").replace(files={}).write(directory / "seed0")
    assert "list no digests" not in command("resume", str(directory))[2]


def test_a_kill_of_a_resumed_run_leaves_no_record_of_the_attempt_before(command, scripted, places, monkeypatch):
    """Its events have grown since: a record that lists what they were would refuse the run for ever."""
    scripted({0: "interrupted"})
    command(*REPRODUCE)
    (directory,) = places.iterdir()
    monkeypatch.setattr(vigil.runs.carry_out, "execute", lambda directory, *others, **options: end_and_die(directory))
    with pytest.raises(SystemExit):
        command("resume", str(directory))
    started = scripted({0: 81.0})
    started.clear()
    assert command("resume", str(directory))[0] == 4
    assert started == [("torch", 0)]


def end_and_die(directory):
    """Write events, and end as a kill does, before there is a record of them."""
    end_run(directory, 81.0)
    raise SystemExit


def test_a_verdict_is_written_for_a_machine(command, scripted, places, tmp_path):
    """`--json` has what the invocation's directory has, whose name a script does not know."""
    scripted({0: 80.0})
    file = tmp_path / "verdict.json"
    command(*REPRODUCE, "--json", str(file))
    (directory,) = places.iterdir()
    assert json.loads(file.read_text(encoding="utf-8"))["verdict"]["name"] == "unknown"
    assert file.read_bytes() == (directory / "invocation.json").read_bytes()
    code, out, err = command("resume", str(directory), "--json", "-")
    assert (code, out) == (4, (directory / "invocation.json").read_text(encoding="utf-8"))
    assert "UNKNOWN" in err


def test_every_cell_of_a_matrix_is_written_for_a_machine(command, scripted, places, capsys):
    """Each with the whole document of its directory, in the order of the table."""
    scripted({0: 80.0})
    matrix = ["matrix", "resnet_cifar", "--profile", "smoke", "--framework", "torch,jax", "--mode", "jit", "--precision", "fp32"]
    found = answer_of(capsys, MatrixAnswer, *matrix, "--devices", "1")
    assert [each.context.framework for each in found.invocations] == ["torch", "jax"]
    for each in found.invocations:
        assert each == vigil.runs.carry_out.read_invocation(places / each.invocation_id)


def parsers(parser, name=""):
    """Yield the name and the parser of every verb, and of every action of one."""
    for action in parser._actions:
        for word, below in action.choices.items() if isinstance(action.choices, dict) else ():
            yield f"{name} {word}".strip(), below
            yield from parsers(below, f"{name} {word}".strip())


@pytest.mark.parametrize("name", [name for name, _ in parsers(build_parser())])
def test_every_verb_has_exit_codes_and_an_example_that_it_takes(name):
    """What `--help` shows can be copied: it names the verb, and its options exist."""
    below = dict(parsers(build_parser()))[name]
    assert re.search("exit codes[^:]*: 0 ", " ".join(below.epilog.split()))
    example = shlex.split(EXAMPLES[name].partition(" >")[0])
    assert example[: 1 + len(name.split())] == ["vigil", *name.split()]
    build_parser().parse_args(example[1:])


def test_every_verb_is_in_one_group():
    """Nobody looks for a verb that `vigil --help` does not show."""
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(VERBS)


@pytest.fixture
def interrupted_with_fault(command, scripted, places, tmp_path):
    """Return the directory of an interrupted run with a planted fault, as it came from somebody else, and the fault's file."""
    scripted({0: "interrupted"})
    fault = tmp_path / "half_rate.py"
    fault.write_text("def install():\n    pass\n", encoding="utf-8")
    command(*REPRODUCE, "--fault", str(fault))
    shutil.rmtree(tmp_path / "cache" / "faults")  # no command of this user has named it
    (directory,) = places.iterdir()
    return directory, fault


def test_a_fault_file_that_nobody_here_named_is_not_run(command, scripted, interrupted_with_fault):
    """Not on a terminal `resume` refuses, with the way to allow it, and starts nothing."""
    directory, fault = interrupted_with_fault
    started = scripted({0: 80.0})
    started.clear()
    code, _, err = command("resume", str(directory))
    assert (code, started) == (2, [])
    assert f"vigil resume {directory} --fault {fault}" in err


def test_a_fault_file_is_run_whose_checksum_the_user_gives(command, scripted, interrupted_with_fault):
    """The file that `--fault` names must be that of the runs; another one is refused."""
    directory, fault = interrupted_with_fault
    scripted({0: 80.0})
    other = fault.with_name("other.py")
    other.write_text("def install():\n    raise SystemExit\n", encoding="utf-8")
    assert command("resume", str(directory), "--fault", str(other))[0] == 2
    code, out, _ = command("resume", str(directory), "--fault", str(fault))
    assert code == 4
    assert "PLANTED FAULT" in out


@pytest.mark.parametrize("without", ["invocation.json", "seed0/spec.json"])
def test_a_fault_is_marked_by_whichever_document_has_it(command, scripted, interrupted_with_fault, without):
    """A directory from which the mark was taken in one document is marked by the others."""
    directory, fault = interrupted_with_fault
    scripted({0: 80.0})
    path = directory / without
    content = json.loads(path.read_text(encoding="utf-8")) | {"fault": None}
    del content["sha256"]  # as in a directory from before there were digests
    path.write_text(json.dumps(content), encoding="utf-8")
    code, out, _ = command("resume", str(directory), "--fault", str(fault))
    assert code == 4
    assert "PLANTED FAULT   half_rate" in out
    assert json.loads((directory / "invocation.json").read_text(encoding="utf-8"))["fault"] == "half_rate"


def test_a_matrix_prints_a_row_a_context_and_what_was_not_covered(command, scripted, monkeypatch):
    """Four contexts end in a table, with the frameworks that are not installed, not those that were left out."""
    scripted({0: 80.0})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jax" else object())
    code, out, _ = command(
        "matrix", "resnet_cifar", "--profile", "smoke", "--framework", "torch", "--mode", "eager,jit", "--devices", "1"
    )
    assert code == 4
    assert out.count("torch-eager-bf16-x1") == 2  # its line when it ended, and its row
    assert "[4/4]" in out
    assert "not covered, because not installed: jax\n" in out


def test_a_matrix_without_a_recipe_is_one_of_all_of_them(command, scripted, tmp_path):
    """Each recipe has its contexts, its lines and a table of its own, and the file has them all."""
    scripted({0: 80.0})
    table = tmp_path / "table.md"
    code, out, _ = command(
        *("matrix", "--profile", "smoke", "--framework", "torch", "--mode", "eager,jit", "--precision", "fp32"),
        *("--devices", "1", "--markdown", str(table)),
    )
    assert code == 4
    count = 2 * len(recipe_names())
    for name in recipe_names():
        assert f"/{count}] {name} torch-jit-fp32-x1: unknown 80.00" in out
        assert out.splitlines().count(f"{name}, profile smoke: 2 unknown") == 1
        assert table.read_text().count(f"- {name} v") == 1
    assert table.read_text().count("| torch-jit-fp32-x1 |") == len(recipe_names())


def test_recipes_and_schema_are_printed(command):
    """Every recipe is listed with its profiles, and the schema is the one that is shipped."""
    code, out, _ = command("recipes")
    assert code == 0
    assert all(profile in out for profile in load_recipe("resnet_cifar").profiles)
    code, out, _ = command("schema")
    shipped = vigil.paths.project_root() / "recipes" / "recipe.schema.json"
    assert (code, out) == (0, shipped.read_text(encoding="utf-8"))
