"""`vigil init` and `vigil verify my_step.py`, as a person meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vigil.cli.main import main
from vigil.documents.step import StepVerification

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("torch", "tensorflow", "jax")
WRONG_GRADIENT = """
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 1.0001


def install():
    original = torch.nn.functional.gelu
    torch.nn.functional.gelu = lambda x, **more: original(Scaled.apply(x), **more)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an empty folder, with runs beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


def the_document(place: Path) -> StepVerification:
    """Return the only verification that there is."""
    [file] = place.glob("runs/*/step.json")
    return StepVerification.read(file.parent)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_init_writes_a_step_to_begin_with(place, framework, capsys):
    """It says what to do next; it writes over nothing."""
    assert main(["init", framework]) == 0
    assert "vigil verify my_step.py" in capsys.readouterr().out
    assert "def loss(" in (place / "my_step.py").read_text(encoding="utf-8")
    assert main(["init", framework]) == 2
    assert "my_step.py is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["init", "pytorch"], "FRAMEWORK: found 'pytorch'. Allowed: torch, tensorflow, jax. Did you mean torch?"),
        (["init", "torch", "step.txt"], "FILE: found step.txt. Allowed: a name that ends in .py."),
        (["verify", "gone.py"], "gone.py: No such file or directory. Allowed: a Python file"),
        (["verify", "my_step.py", "--devices", "2"], "--devices: found 2. Allowed: 1, and 2 where my_step.py defines"),
        (["verify", "my_step.py", "--framework", "jax"], "--framework: found jax, and my_step.py is of torch"),
        (["verify", "my_step.py", "--release", "jax==0.9.2"], "--release: found jax==0.9.2, and my_step.py is of torch"),
        (["verify", "my_step.py", "--mode", "fast"], "--mode"),
        (["verify", "my_step.py", "--threads", "0"], "--threads"),
        (["verify", "my_step.py", "--python", "nowhere"], "--python: nowhere: no such file"),
        (["verify", "resnet_cifar", "--framework", "torch", "--threads", "1"], "--threads: allowed for a file of your own alone"),
    ],
)
def test_what_cannot_be_asked_is_said(place, capsys, arguments, said):
    """Which option, what was found and what is allowed; exit code 2."""
    (place / "my_step.py").write_text("import torch\n", encoding="utf-8")
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.torch
def test_a_step_is_reproduced(place, capsys):
    """The file that `init` writes, in one context: every tensor within what rounding does."""
    pytest.importorskip("torch")
    assert main(["init", "torch"]) == 0
    code = main(["verify", "my_step.py", "--mode", "eager", "--precision", "fp32", "--threads", "1"])
    out = capsys.readouterr().out
    assert code == 0, out
    assert "reproduced: my_step.py, torch" in out
    document = the_document(place)
    [context] = document.contexts
    assert context.tensors > 60
    assert context.repeated.calls == 60
    assert document.oracles[0].derivatives[0].parameter is None


@pytest.mark.torch
def test_a_wrong_gradient_is_told_with_its_module(place, capsys):
    """A gradient that is too large by 0.01 %, planted in the context alone; what `--json` writes is the document."""
    pytest.importorskip("torch")
    assert main(["init", "torch"]) == 0
    (place / "fault.py").write_text(WRONG_GRADIENT, encoding="utf-8")
    options = ["--mode", "eager", "--precision", "fp32", "--threads", "1", "--fault", "fault.py", "--json", "found.json"]
    assert main(["verify", "my_step.py", *options]) == 1
    out = capsys.readouterr().out
    assert "REGRESSED: PLANTED FAULT, my_step.py" in out
    assert "the origin is 1, backward" in out.replace("\n", " ")
    assert json.loads((place / "found.json").read_text(encoding="utf-8"))["contexts"][0]["origin"]["where"] == "1"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\nimport gone_module\n", "failed:program: needs the module gone_module"),
        ("import torch\ndef build():\n    return torch.nn.Linear(2, 2)\ndef batch(seed):\n    return torch.ones(2, 2)\n"
         "def loss(model, batch):\n    return model(batch).sum() / 0\n", "loss: -inf in float64"),
        ("import torch\ndef build():\n    return torch.nn.Linear(2, 2)\ndef batch(seed):\n    return torch.ones(2, 2)\n"
         "def loss(model, batch):\n    return model(batch)\n", "loss: gave a tensor of shape [2, 2]. Allowed: one number"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_no_verdict(place, capsys, source, said):
    """Neither reproduced nor regressed: exit code 3, with the file and the reason."""
    pytest.importorskip("torch")
    (place / "my_step.py").write_text(source, encoding="utf-8")
    assert main(["verify", "my_step.py", "--mode", "eager", "--precision", "fp32", "--threads", "1"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert said.removeprefix("failed:program: ") in out
    assert "FAILED:PROGRAM" in out


@pytest.mark.torch
def test_a_users_own_test_fails_where_a_step_does(place):
    """The fixture of the plug-in: green on the step that `init` writes is above; here it says why it is red."""
    pytest.importorskip("torch")
    (place / "my_step.py").write_text("import torch\n", encoding="utf-8")
    (place / "test_step.py").write_text(
        "def test_step(vigil_verify):\n    vigil_verify('my_step.py', mode='eager', precision='fp32', threads='1')\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "vigil.pytest_plugin", "-p", "no:cacheprovider", str(place)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        cwd=place,
    )
    assert done.returncode == 1, done.stdout
    assert "build: missing" in done.stdout
    assert "exit code 3" in done.stdout


OF_A_STEP = {
    "contexts": [
        {"context": {"mode": "eager", "precision": "fp32"}, "threads": 1, "verdict": {"name": "reproduced", "reason": ""}},
        {"context": {"mode": "jit", "precision": "fp32"}, "threads": 1, "verdict": {"name": "unsupported", "reason": "no jit"}},
    ]
}


@pytest.mark.parametrize(
    ("document", "options", "said"),
    [
        (OF_A_STEP, "mode='eager,jit'", "not verified: mode jit: no jit"),
        (OF_A_STEP, "mode='eager,jit', precision='fp32'", "not verified: mode jit, precision fp32: no jit"),
        (OF_A_STEP, "precision='fp32'", "1 passed"),
        (OF_A_STEP, "", "1 passed"),
        ({"precisions": ["fp32"]}, "precision='fp32,fp16'", "not verified: fp16: the file says to try fp32 alone"),
        ({"precisions": ["fp32"]}, "precision='fp32'", "1 passed"),
    ],
)
def test_what_a_users_test_names_must_be_verified_too(place, document, options, said):
    """A context that is not offered is no part of what is reproduced; the verb's exit code is 0 all the same."""
    (place / "conftest.py").write_text(
        "import pathlib, vigil.cli.main\ndef main(words):\n"
        f"    pathlib.Path(words[words.index('--json') + 1]).write_text({json.dumps(document)!r})\n    return 0\n"
        "vigil.cli.main.main = main\n",
        encoding="utf-8",
    )
    (place / "test_step.py").write_text(
        f"def test_step(vigil_verify):\n    vigil_verify('my_step.py', {options})\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "vigil.pytest_plugin", "-p", "no:cacheprovider", str(place)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        cwd=place,
    )
    assert said in done.stdout
    assert done.returncode == (said != "1 passed")


@pytest.mark.torch
def test_a_program_that_keeps_state_elsewhere_is_refused(place, capsys):
    """A number that grows with each call, outside of the model: nothing can be held to that."""
    pytest.importorskip("torch")
    source = (
        "import torch\ncalls = []\ndef build():\n    return torch.nn.Linear(2, 2)\n"
        "def batch(seed):\n    return torch.ones(2, 2)\n"
        "def loss(model, batch):\n    calls.append(None)\n    return model(batch).square().sum() * len(calls)\n"
    )
    (place / "my_step.py").write_text(source, encoding="utf-8")
    assert main(["verify", "my_step.py", "--mode", "eager", "--precision", "fp32", "--threads", "1"]) == 3
    assert "gave other numbers in float64" in " ".join(capsys.readouterr().out.split())


RACE = """
import torch


def build():
    return torch.nn.ModuleDict({"table": torch.nn.Embedding(50, 64), "head": torch.nn.Linear(64 * 40, 10)})


def batch(seed):
    return torch.randint(0, 50, (256, 40), generator=torch.Generator().manual_seed(seed))


def loss(model, batch):
    return model["head"](model["table"].weight[batch].flatten(1)).square().mean()
"""


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.skipif(os.cpu_count() == 1 or not hasattr(os, "sched_setaffinity"), reason="needs two cores")
def test_a_race_gives_one_result_under_determinism(place, capsys):
    """A real one: the backward of an index adds up in any order, unless PyTorch's deterministic kernel is asked for."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a worker of pytest-xdist has one core, on which threads take turns
    try:
        (place / "my_step.py").write_text(RACE, encoding="utf-8")
        options = ["--mode", "eager", "--precision", "fp32", "--threads", "2", "--determinism", "off,on"]
        assert main(["verify", "my_step.py", *options]) == 0
    finally:
        os.sched_setaffinity(0, own)
    results = {each.context.text: each.repeated.results for each in the_document(place).contexts}
    assert results["torch-eager-fp32-x1"] > 1
    assert results["torch-eager-fp32-x1-det"] == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_gpu_that_is_not_there_is_unsupported(place, framework, capsys):
    """Its contexts are one of each mode and precision, TF32 among them, on a GPU; what could not be asked is no pass."""
    if framework != "tensorflow" and _has_gpu(framework):
        pytest.skip("this machine has a GPU")
    assert main(["init", framework]) == 0
    assert main(["verify", "my_step.py", "--device", "gpu", "--mode", "eager", "--precision", "fp32,tf32"]) == 3
    document = the_document(place)
    assert [each.context.text for each in document.contexts] == [f"{framework}-eager-{each}-gpu-x1" for each in ("fp32", "tf32")]
    assert {each.threads for each in document.contexts} == {1}
    assert {each.verdict.name for each in document.contexts} == {"unsupported"}
    said = "verified on the CPU alone" if framework == "tensorflow" else "1 GPU(s) asked for"
    assert said in document.verdict.reason


def _has_gpu(framework: str) -> bool:
    if framework == "torch":
        return __import__("torch").cuda.is_available()
    return any(device.platform == "gpu" for device in __import__("jax").devices())


def test_tf32_is_of_gpus_alone(place, capsys):
    assert main(["init", "torch"]) == 0
    assert main(["verify", "my_step.py", "--precision", "tf32"]) == 2
    assert "Allowed: fp32, bf16, fp16" in capsys.readouterr().err
    assert main(["verify", "my_step.py", "--device", "tpu"]) == 2
    assert "--device: found 'tpu'. Allowed: cpu, gpu." in capsys.readouterr().err
