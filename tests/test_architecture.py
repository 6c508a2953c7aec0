"""The walls of docs/architecture.md: who may import whom, read from the source and seen in a fresh process."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORK_MODULES = {"torch", "torchvision", "tensorflow", "keras", "jax", "jaxlib", "flax", "optax", "mxnet"}
BELOW = ("runners.contract", "runners.keras")
OWN = {"torch": {"torch"}, "tensorflow": {"tensorflow"}, "jax": {"jax", "jaxlib", "flax", "optax"}}


def sources(*folders: str) -> list[Path]:
    """Return the Python files of folders of this checkout."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def relative(path: Path) -> str:
    """Return a path as it stands in messages."""
    return str(path.relative_to(ROOT))


def imported(source: str) -> Iterator[str]:
    """Yield the full name of every module that a source imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "(computed)"


def assert_imports_none_of(source: str, forbidden: set[str]) -> None:
    """Raise if a source imports one of these top-level modules."""
    found = {name for name in imported(source) if name.split(".")[0] in forbidden}
    assert not found, f"imports {sorted(found)}"


def assert_stays_below(source: str, *, own: set[str], package: str, below: tuple[str, ...] = ("runners.contract",)) -> None:
    """Raise if a source imports more than its package, those below, its own libraries, numpy and the standard library."""
    for name in imported(source):
        top = name.split(".")[0]
        is_inside = name.startswith((*below, package))
        assert is_inside or top in own | {"numpy"} or top in sys.stdlib_module_names, f"imports {name}"


@pytest.mark.parametrize("path", sources("vigil", "reports", "runners/contract"), ids=relative)
def test_nothing_but_a_runner_imports_a_framework(path):
    """The conductor, the reports and the contract reach a framework only by starting a process."""
    assert_imports_none_of(path.read_text(encoding="utf-8"), FRAMEWORK_MODULES)


@pytest.mark.parametrize("path", sources("vigil", "reports", "runners"), ids=relative)
def test_only_one_module_imports_mlflow(path):
    """MLflow can be replaced in one file."""
    if path != ROOT / "vigil" / "tracking" / "client.py":
        assert_imports_none_of(path.read_text(encoding="utf-8"), {"mlflow"})


@pytest.mark.parametrize("path", sources("vigil", "reports"), ids=relative)
def test_only_one_room_decodes_images_and_annotations(path):
    """Pillow is imported under vigil/data/ alone, pycocotools under vigil/data/coco/."""
    data = ROOT / "vigil" / "data"
    if path.parent != data / "coco":
        others = {"pycocotools"} if path.parent == data else {"pycocotools", "PIL"}
        assert_imports_none_of(path.read_text(encoding="utf-8"), others)


@pytest.mark.parametrize("path", sources("vigil/statistics"), ids=relative)
def test_statistics_stand_on_numpy_scipy_and_the_standard_library(path):
    """A rule that decides takes numbers: it knows no row, no recipe and no document."""
    assert_stays_below(path.read_text(encoding="utf-8"), own={"scipy"}, package="vigil.statistics", below=())


@pytest.mark.parametrize("planted", ["from vigil.documents import record", "import runners.contract.files", "import pandas"])
def test_a_statistic_that_knows_a_document_is_caught(planted):
    """A room of Vigil's, the contract, and a library for tables are each found."""
    with pytest.raises(AssertionError, match="imports"):
        assert_stays_below(planted, own={"scipy"}, package="vigil.statistics", below=())


@pytest.mark.parametrize("framework", OWN)
def test_a_runner_stands_on_the_contract_and_its_own_framework(framework):
    """No runner imports another framework, the conductor, or a package of the conductor's."""
    for path in sources(f"runners/{framework}"):
        assert_stays_below(path.read_text(encoding="utf-8"), own=OWN[framework], package=f"runners.{framework}", below=BELOW)


def test_the_runner_of_mxnet_stands_on_mxnet_alone():
    """It trains nothing, and is no twin of the others."""
    for path in sources("runners/mxnet"):
        assert_stays_below(path.read_text(encoding="utf-8"), own={"mxnet"}, package="runners.mxnet")


def test_the_calls_of_keras_stand_on_keras_alone():
    """On whichever backend they are: the framework is the runner's."""
    for path in sources("runners/keras"):
        assert_stays_below(path.read_text(encoding="utf-8"), own={"keras"}, package="runners.keras")


def test_the_contract_stands_on_numpy_and_the_standard_library():
    """The ground floor runs wherever Python 3.10 and numpy do: its grammar too is that of 3.10."""
    for path in sources("runners/contract"):
        source = path.read_text(encoding="utf-8")
        assert_stays_below(source, own=set(), package="runners.contract")
        ast.parse(source, feature_version=(3, 10))


@pytest.mark.parametrize(
    "planted",
    [
        "import tensorflow as tf", "def f():\n    from jax import numpy", "import yaml", "import vigil.paths",
        "from runners.jax.train import train", "import importlib\nimportlib.import_module('pandas')",
    ],
)
def test_a_wall_that_is_broken_is_caught(planted):
    """Another framework, the conductor, its packages and another runner are each found, inside functions too."""
    with pytest.raises(AssertionError, match="imports"):
        assert_stays_below(planted, own=OWN["torch"], package="runners.torch")


def test_a_framework_in_the_conductor_is_caught():
    """An import hidden in a function is found."""
    with pytest.raises(AssertionError, match="imports"):
        assert_imports_none_of("def f():\n    import torch.nn", FRAMEWORK_MODULES)


def test_the_command_line_starts_without_any_framework_or_mlflow():
    """In a fresh process, importing all of the command line loads none of them: it stays quick, and offline."""
    heavy = sorted(FRAMEWORK_MODULES | {"mlflow", "scipy.stats"})
    code = f"import sys, vigil.cli.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_runners_have_the_same_files():
    """The three runners are twins: what every one of them has is listed in docs/architecture.md."""
    listed = {"__init__.py", "__main__.py", "train.py", "verify.py", "optimizers.py", "modes.py", "precision.py", "devices.py",
              "determinism.py", "attention.py", "models/__init__.py", "models/resnet_cifar.py"}
    for framework in OWN:
        folder = ROOT / "runners" / framework
        assert listed <= {str(path.relative_to(folder)) for path in folder.rglob("*.py")}, framework


def test_every_long_test_is_there():
    """A test that was renamed would be run by `make test` again, unseen."""
    lines = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        file, name = line.split("[")[0].split("::")
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), line
