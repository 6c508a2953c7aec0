"""What a new kind of recipe takes: new files, and a row in each of six tables; then it runs through every verb.

A classifier of one dense layer with AdamW is added to a copy of the sources. Nothing else of the copy differs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runners.harness import FRAMEWORKS, ROOT

FILES = Path(__file__).parent / "files"
SOURCES = ("vigil", "runners", "recipes", "reports", "benchmarks")
RECIPE = "dense_classifier"
# In each table's file: the import, and the row.
EDITS = {
    "runners/contract/kinds/table.py": (
        (
            "from runners.contract.kinds.detection import TINY_MASK_RCNN\n",
            "from runners.contract.kinds.dense import DENSE_CLASSIFIER\n"
            "from runners.contract.kinds.detection import TINY_MASK_RCNN\n",
        ),
        ('    "moco_lite": MOCO_LITE,\n', '    "moco_lite": MOCO_LITE,\n    "dense_classifier": DENSE_CLASSIFIER,\n'),
    ),
    "vigil/recipes/kinds.py": (
        (
            "from vigil.recipes.detector import DetectorRecipe\n",
            "from vigil.recipes.dense import DenseRecipe\nfrom vigil.recipes.detector import DetectorRecipe\n",
        ),
        ('    "moco_lite": ContrastiveRecipe,\n', '    "moco_lite": ContrastiveRecipe,\n    "dense_classifier": DenseRecipe,\n'),
    ),
    "vigil/verify/oracle/models.py": (
        (
            "from vigil.verify.oracle import char_gpt,",
            "from vigil.verify.oracle import char_gpt, dense_classifier,",
        ),
        (
            "MODELS = {\n",
            "MODELS = {\n"
            '    "dense_classifier": '
            "Architecture(dense_classifier.forward, dense_classifier.objective, dense_classifier.evaluate),\n",
        ),
    ),
    **{
        f"runners/{name}/train.py": (
            (
                f"from runners.{name}.models import char_gpt,",
                f"from runners.{name}.models import char_gpt, dense_classifier,",
            ),
            ("MODELS = {", 'MODELS = {"dense_classifier": dense_classifier, '),
        )
        for name in FRAMEWORKS
    },
}


def texts(root: Path) -> dict[str, bytes]:
    """Return the content of every source, by its path."""
    files = [path for folder in SOURCES for path in (root / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the sources to which the kind is added."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "html"))
    shutil.copytree(FILES, root, dirs_exist_ok=True)
    for path, changes in EDITS.items():
        text = (root / path).read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
            text = text.replace(old, new)
        (root / path).write_text(text, encoding="utf-8")
    (root / "reference_results").mkdir()
    return root


@pytest.fixture(scope="module")
def vigil(checkout):
    """Return a function that runs a module of the copy, and returns what it said; it must end as expected."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "VIGIL_RUNS_DIR": str(checkout / "runs"),
        "VIGIL_CACHE_DIR": str(checkout / "cache"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{checkout / 'mlflow.db'}",
    }

    def run(*arguments: str, module: str = "vigil", exit_code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], cwd=checkout, env=environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        assert done.returncode == exit_code, f"{' '.join(arguments)}: exit code {done.returncode}\n{said[-3000:]}"
        return said

    return run


def only(root: Path, pattern: str, name: str) -> dict:
    """Return the newest JSON document of a name below the runs that match a pattern."""
    found = sorted(path for path in (root / "runs").glob(pattern) if (path / name).is_file())
    return json.loads((found[-1] / name).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_kind_takes_a_row_in_six_tables(checkout):
    """Files that were there and are changed: at most eight. All others are what they were, byte by byte, or new."""
    before, after = texts(ROOT), texts(checkout)
    before = {path: content for path, content in before.items() if not path.startswith("reports/html")}
    new = {str(path.relative_to(FILES)) for path in FILES.rglob("*") if path.is_file()}
    assert {path for path in before if after[path] != before[path]} == set(EDITS)
    assert set(after) - set(before) == new
    assert len(EDITS) <= 8
    for path in EDITS:
        lines = before[path].decode().splitlines()
        added = [line for line in after[path].decode().splitlines() if line not in lines]
        assert len(added) == 2, f"{path}: {added}"


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_kind_runs_through_every_verb(checkout, vigil):
    """Checked, voted on by three frameworks, verified, measured, reproduced and reported; a planted fault is not passed."""
    assert f"{RECIPE} version 1" in vigil("check", RECIPE)
    tape = vigil("golden", RECIPE)
    assert tape.count(": agrees, at most") == 4, tape  # the oracle votes too
    contexts = ",".join(f"{name}-{mode}-fp32-x1" for name in FRAMEWORKS for mode in ("jit", "eager"))
    vigil("measure", "--recipe", RECIPE, "--contexts", contexts, "--tape", module="benchmarks.false_alarms")
    for name in FRAMEWORKS:
        vigil("verify", RECIPE, "--framework", name)
        document = only(checkout, f"*-verify-{RECIPE}-*-{name}-*", "verify.json")
        assert document["verdict"]["name"] == "reproduced", name
    vigil("reference", "add", RECIPE, "--seeds", "5")
    for name in FRAMEWORKS:
        vigil("reproduce", RECIPE, "--framework", name, exit_code=4)
        invocation = only(checkout, f"*-{RECIPE}-*-{name}-*", "invocation.json")
        assert invocation["verdict"]["name"] == "ran", name  # in 24 steps it learns too little for its band to say more
        assert invocation["verdict"]["band"], name
    fault = str(Path(__file__).parent / "adamw_bias_kept.py")
    vigil("verify", RECIPE, "--framework", "torch", "--fault", fault, exit_code=1)
    document = only(checkout, f"*-verify-{RECIPE}-*-torch-*", "verify.json")
    # One factor for all moments: as good as another learning rate.
    assert (document["verdict"]["name"], document["origin"]["layer"]) == ("regressed", "optimizer")
    vigil("report", "--out", str(checkout / "site"))
    page = (checkout / "site" / "index.html").read_text(encoding="utf-8")
    assert RECIPE in page
