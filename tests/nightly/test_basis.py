"""A basis changes with each thing that a verdict stands on, and with nothing else."""

import shutil

import pytest

from tests.nightly.nights import a_cell
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.nightly import basis
from vigil.nightly.basis import Bases, with_imports
from vigil.paths import project_root

FILES = {
    "runners/contract/data/streams.py": "contract",
    "runners/jax/train.py": "framework",
    "runners/torch/train.py": "another framework",
    "vigil/verify/distance.py": "verify",
    "vigil/process/build_spec.py": "from vigil.documents.context import Context",
    "vigil/documents/context.py": "",
    "vigil/verify/oracle/step.py": "verify, deeper",
    "vigil/references/judge.py": "from vigil.statistics.bands import Band",
    "vigil/statistics/bands.py": "from vigil.statistics import metric",
    "vigil/statistics/metric.py": "SCALE = 1",
    "vigil/cli/main.py": "no part of it",
    "reference/known_findings.yaml": "findings",
    "reference/resnet_cifar/quick-jax-2026.jsonl": "rows",
    "reference/resnet_cifar/verify/golden-quick.npz": "tape",
    "reference/resnet_cifar/verify/clean-tape.jsonl": "clean",
    "reference/moco_lite/quick-jax-2026.jsonl": "rows of another",
    "docs/index.md": "a page",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def basis_of(root, kind=REPRODUCE, *, key="e1", recipe_hash="r1"):
    """Return the basis of a cell in JAX."""
    bases = Bases({"jax": key}, {"resnet_cifar": recipe_hash}, root=root, reference=root / "reference")
    return bases.of(a_cell(kind))


OF_BOTH = [
    "runners/contract/data/streams.py", "runners/jax/train.py", "vigil/verify/distance.py", "vigil/verify/oracle/step.py",
    "vigil/process/build_spec.py", "vigil/documents/context.py",
    "reference/known_findings.yaml", "reference/resnet_cifar/verify/golden-quick.npz",
    "reference/resnet_cifar/verify/clean-tape.jsonl",
]  # fmt: skip
OF_A_REPRODUCTION = [
    "vigil/references/judge.py", "vigil/statistics/bands.py", "vigil/statistics/metric.py",
    "reference/resnet_cifar/quick-jax-2026.jsonl",
]  # fmt: skip


@pytest.mark.parametrize("name", [*OF_BOTH, *OF_A_REPRODUCTION])
def test_a_changed_file_makes_a_reproduction_due(root, name):
    """Runner, verification, judgement with all that it imports, golden tape, clean runs, reference rows."""
    before = basis_of(root)
    (root / name).write_text("from vigil.statistics.bands import Band  # changed")
    assert basis_of(root) != before


@pytest.mark.parametrize("name", [*OF_BOTH, *OF_A_REPRODUCTION])
def test_a_file_that_is_gone_makes_a_reproduction_due(root, name):
    """What is missing is another basis, and no error."""
    before = basis_of(root)
    (root / name).unlink()
    assert basis_of(root) != before


def test_a_new_file_makes_a_cell_due(root):
    """Rows that are added move the band; a file that is added to a runner may move anything."""
    before = basis_of(root)
    (root / "reference/resnet_cifar/quick-torch-2027.jsonl").write_text("rows")
    with_rows = basis_of(root)
    (root / "runners/jax/new.py").write_text("")
    assert len({before, with_rows, basis_of(root)}) == 3


@pytest.mark.parametrize("facts", [{"key": "e2"}, {"recipe_hash": "r2"}])
def test_another_environment_or_recipe_is_another_basis(root, facts):
    """The key of the environment stands for every package in it, the hash of a recipe for all its numbers."""
    assert basis_of(root, **facts) != basis_of(root)


def test_a_variable_that_moves_numbers_is_part_of_it(root, monkeypatch):
    """What was covered without a compiler's flag is not covered with it."""
    before = basis_of(root)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert basis_of(root) != before


@pytest.mark.parametrize("kind", [VERIFY, REPRODUCE])
@pytest.mark.parametrize(
    "name", ["runners/torch/train.py", "vigil/cli/main.py", "docs/index.md", "reference/moco_lite/quick-jax-2026.jsonl"]
)
def test_what_moves_no_number_of_the_cell_makes_nothing_due(root, kind, name):
    """Another framework's runner, the command line, a page, another recipe's rows."""
    before = basis_of(root, kind)
    (root / name).write_text("changed")
    assert basis_of(root, kind) == before


@pytest.mark.parametrize("name", OF_A_REPRODUCTION)
def test_a_verification_does_not_stand_on_the_band(root, name):
    """Reference rows and what judges a number are no part of it."""
    before = basis_of(root, VERIFY)
    (root / name).write_text("")
    assert basis_of(root, VERIFY) == before


def test_a_basis_that_forgets_an_ingredient_is_caught(root, monkeypatch):
    """Planted: with the verification left out of the code, a change of it goes unseen."""
    monkeypatch.setattr(basis, "_CODE", ("runners/contract", "runners/{framework}"))
    before = basis_of(root, VERIFY)
    (root / "vigil/verify/distance.py").write_text("changed")
    assert basis_of(root, VERIFY) == before


def test_the_judgement_of_this_checkout_is_found():
    """The imports of the real verdict lead to the real bands."""
    found = with_imports([project_root() / "vigil" / "references" / "judge.py"], root=project_root())
    needed = {"vigil/references/judge.py", "vigil/statistics/bands.py", "vigil/references/samples.py"}
    assert needed <= {path.relative_to(project_root()).as_posix() for path in found}


def test_moved_folders_do_not_move_the_basis(root, tmp_path_factory):
    """A fresh clone elsewhere has the same basis."""
    other = tmp_path_factory.mktemp("elsewhere") / "clone"
    shutil.copytree(root, other)
    assert basis_of(other) == basis_of(root)
