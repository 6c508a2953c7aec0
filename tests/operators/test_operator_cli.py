"""`vigil init --operator` and `vigil verify my_op.py`, as a person meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vigil.cli.main import main
from vigil.documents.operator import OperatorVerification
from vigil.operators.verify import is_operator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an empty folder, with runs beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


def small(text: str, place: Path) -> Path:
    """Write an operator of few sizes, whose trials take seconds."""
    file = place / "my_op.py"
    file.write_text(text + '\nSIZES = {"rows": (1, 32), "columns": (3, 256)}\n', encoding="utf-8")
    return file


@pytest.mark.torch
def test_an_operator_is_written_and_verified(place, capsys):
    """The example is reproduced; a sum that is off by a tenth of a per mille is a bug, with the call that shows it."""
    assert main(["init", "torch", "--operator"]) == 0
    assert "vigil verify my_op.py --precision fp32" in capsys.readouterr().out
    text = (place / "my_op.py").read_text(encoding="utf-8")
    small(text, place)
    assert main(["verify", "my_op.py", "--precision", "fp32", "--seeds", "4", "--threads", "1", "--json", "one.json"]) == 0
    assert "reproduced: my_op.py, torch" in capsys.readouterr().out
    document = json.loads((place / "one.json").read_text(encoding="utf-8"))
    assert document["verdict"]["name"] == "reproduced"
    assert document["processes"][0]["repeated"] == {"calls": 60, "results": 1}
    small(text.replace("* normal).flatten", "* normal * 1.0001).flatten"), place)
    assert main(["verify", "my_op.py", "--precision", "fp32", "--seeds", "4", "--threads", "1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "REGRESSED: my_op.py, torch" in out
    assert "bug gradients/weight" in out
    assert "shown by inputs(0, rows=1, columns=3) in fp32" in out
    [file] = [each for each in place.glob("runs/*/operator.json") if "regressed" in each.read_text(encoding="utf-8")]
    assert OperatorVerification.read(file.parent).findings[0].usual.count == 4


@pytest.mark.torch
@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("import torch\n", "import torch\nimport not_there\n"), 3, "needs the module not_there"),
        (("rows=32", "rows"), 3, "inputs: rows: no usual size"),
        (("torch.randn(rows", "torch.rands(rows"), 3, "has no attribute 'rands'"),
        (("return RMSNorm.apply(x, weight)", "return None"), 3, "gave NoneType. Allowed: tensors"),
        (("def candidate(", "def candidat("), 3, "candidate: missing"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(place, capsys, change, code, message):
    """What and where, and nothing is called reproduced."""
    text = (ROOT / "examples" / "operator_torch.py").read_text(encoding="utf-8")
    assert change[0] in text
    small(text.replace(*change), place)
    assert main(["verify", "my_op.py", "--precision", "fp32", "--seeds", "2", "--threads", "1"]) == code
    said = capsys.readouterr()
    assert message in " ".join(said.out.split())
    assert "reproduced" not in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "eager,jit"], "--mode: found 'eager,jit'. Allowed: one of"),
        (["--jobs", "2"], "--jobs: not allowed"),
        (["--devices", "2"], "--devices: not allowed"),
        (["--seeds", "0"], "--seeds"),
        (["--framework", "jax"], "--framework: found jax, and my_op.py is of torch"),
    ],
)
def test_wrong_usage_is_said(place, capsys, arguments, message):
    """As for steps."""
    small((ROOT / "examples" / "operator_torch.py").read_text(encoding="utf-8"), place)
    assert main(["verify", "my_op.py", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("form", ["from {} import candidate, reference", "from {} import fast as candidate, slow as reference"])
def test_functions_may_be_imported(tmp_path, form):
    """As a kernel that lies in a package of its own."""
    file = tmp_path / "my_op.py"
    file.write_text(f"import torch\n{form.format('kernels')}\n\n\ndef inputs(seed):\n    return ()\n", encoding="utf-8")
    assert is_operator(file)


def test_seeds_are_of_operators_alone(place, capsys):
    """A step has one batch, which its oracle chooses; a recipe has seeds of runs."""
    assert main(["init", "torch"]) == 0
    assert main(["verify", "my_step.py", "--seeds", "3"]) == 2
    assert main(["verify", "resnet_cifar", "--framework", "torch", "--seeds", "3"]) == 2
    assert "--seeds: allowed for a file of your own alone" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["compare", "my_op.py", "torch==2.12.0", "torch==2.13.0"], ["nightly", "my_op.py"]])
def test_what_takes_steps_alone_refuses_an_operator(place, capsys, verb):
    """In one line that says what takes it."""
    small((ROOT / "examples" / "operator_torch.py").read_text(encoding="utf-8"), place)
    assert main(verb) == 2
    assert "an operator. Allowed: a step" in capsys.readouterr().err
