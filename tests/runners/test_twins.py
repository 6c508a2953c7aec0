"""The three runners are one document: same files, same outline, same names of parameters."""

import ast
import json

import pytest

from runners.contract.kinds.table import KINDS
from tests.runners import fork_server
from tests.runners.harness import FRAMEWORKS, ROOT
from vigil.recipes.loading import load_recipe

FILES = (
    "__init__.py",
    "__main__.py",
    "train.py",
    "verify.py",
    "modes.py",
    "precision.py",
    "devices.py",
    "determinism.py",
    "attention.py",
    "optimizers.py",
    "regions.py",
    "models/resnet_cifar.py",
    "models/moco_lite.py",
    "models/tiny_mask_rcnn.py",
    "models/digits_mlp.py",
    "models/char_gpt.py",
)
MODELS = {name: load_recipe(name).resolve("quick")["model"] for name in KINDS}

# A pure step needs its state as one value, and its optimizer made for a rate that is an argument; where parameters are a tree,
# the names are those of its leaves. Keras's SGD keeps another number than the buffer, and its decay is a part of the loss.
# Keras's optimizers clip within their step. flax's batch norm has a mask, and XLA sums over devices. XLA tells what its programs
# take.
_REGION_NORM = ("RegionBatchNorm", "RegionBatchNorm.of_all_devices")
ONLY_IN = {
    "torch": (
        *("Tapped", "Chosen", "NativeOptimizer.use_rate", "NativeOptimizer.clip"),
        *("Prober.warm_up_calls", "RegionBatchNorm.normalised", *_REGION_NORM),
    ),
    "tensorflow": (
        *("Clipping", "gelu", "Prober.prepare", "all_finite", "widened", "flattened", "unflattened", *_REGION_NORM),
        *("NativeOptimizer.use_rate", "NativeOptimizer.native_slots", "NativeOptimizer.decayed", "AdamW.native_slots"),
        *("Sgd.use_rate", "Sgd.native_slots", "Sgd.get_slots", "Sgd.set_slots", "Sgd.decayed"),
    ),
    "jax": (
        *("NativeOptimizer.clip", "NativeOptimizer.decays", "Trainer.program_bytes"),
        *("TrainState", "by_name", "Prober.prepare", "split_norm", "Rules", "dense", "flattened", "unflattened"),
        *(f"{owner}.transformation" for owner in ("NativeOptimizer", "Sgd", "AdamW")),
        *(f"{owner}.{verb}_slots" for owner in ("Sgd", "AdamW") for verb in ("get", "set")),
    ),
}
FORWARD = ("forward", "call")
OUTLINED = ("train.py", "verify.py", "regions.py", "optimizers.py")

PROBE = """
import json, sys
from runners.{framework}.models import char_gpt, digits_mlp, moco_lite, resnet_cifar, tiny_mask_rcnn
found = {{}}
for name, model in json.loads(sys.argv[1]).items():
    found[name] = globals()[name].native_names(model)
print(json.dumps(found))
"""


def outline(path):
    """Return names of classes, their methods and functions, in order."""
    names = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            names.append(node.name)
            if isinstance(node, ast.ClassDef):
                methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
                names += [f"{node.name}.{name}" for name in methods if name[0] != "_" and name not in FORWARD]
    return names


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Return each framework's model -> native names, from a process of its own."""
    result = {}
    for name in FRAMEWORKS:
        folder = tmp_path_factory.mktemp(name)
        (folder / "probe.py").write_text(PROBE.format(framework=name), encoding="utf-8")
        printed = fork_server.ask(name, str(folder / "probe.py"), json.dumps(MODELS), folder=folder)
        result[name] = json.loads(printed.splitlines()[-1])
    return result


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_runner_has_the_same_files(name):
    """Whoever knows one runner finds the same rooms in another."""
    assert [file for file in FILES if not (ROOT / "runners" / name / file).is_file()] == []


@pytest.mark.parametrize("file", [*(f"models/{name}.py" for name in MODELS), *OUTLINED])
def test_twins_have_one_outline(file):
    """Public classes, methods and functions have the same names in the same order, but for what only one has."""

    def common(name):
        return [entry for entry in outline(ROOT / "runners" / name / file) if entry not in ONLY_IN.get(name, ())]

    assert common("torch") == common("tensorflow") == common("jax")
    assert len(common("torch")) >= 5


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_names_are_a_bijection(tables, name, model):
    """Each canonical parameter and statistic has one native name and the reverse."""
    rows = tables[name][model]
    canonical, native = [row[0] for row in rows], [row[1] if isinstance(row[1], str) else tuple(row[1]) for row in rows]
    assert set(canonical) == set(KINDS[model].parameter_shapes(MODELS[model])) | set(KINDS[model].statistic_shapes(MODELS[model]))
    assert len(set(canonical)) == len(rows) == len(set(native))
