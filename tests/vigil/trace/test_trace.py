"""`vigil trace` from end to end: scripts that are the same, and scripts that part in a known place."""

from __future__ import annotations

import os
import textwrap

import pytest

from vigil.cli.main import main
from vigil.documents.trace import PARTS, SAME, Trace

NUMPY = """
import numpy as np
from vigil import probe
random = np.random.default_rng(0)
weights = np.ones(4)
for step in range(5):
    batch = {"images": random.normal(size=(3, 4)), "sizes": [3, (4, 5.0)]}
    probe.monitor(batch, "batch")
    INJECTED
    weights = weights - 0.1 * probe.monitor(batch["images"], "images").mean(0)
    probe.monitor(weights, "weights")
    probe.step()
"""
TORCH = """
import random
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(32, 8)
    AUGMENTED
    model.train()
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    GRADIENTS
    optimizer.step()
    UPDATED
    model.eval()
    with torch.no_grad():
        EVALUATED
"""
INDEXED = """
import torch
torch.manual_seed(0)
table = torch.nn.Embedding(50, 64)
head = torch.nn.Linear(64 * 40, 10)
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
for step in range(6):
    x = torch.randint(0, 50, (256, 40))
    loss = head(table.weight[x].flatten(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KERAS = """
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(0)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
random = np.random.default_rng(SEED)
for step in range(4):
    x = tf.constant(random.normal(size=(16, 4)), tf.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
RARE = """
import os
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1500):
    x = torch.randn(16, 8)
    if step == 1234:
        x = x + int.from_bytes(os.urandom(4), "little") / 2**32
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""
FITTED = """
import keras
import numpy as np
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = np.ones((24, 4), "float32")
if AUGMENTED:
    x[16:] += np.random.default_rng().normal(size=(8, 4))
model.fit(x, np.ones((24, 1), "float32"), batch_size=8, shuffle=False, verbose=0)
"""
GRAPH = """
import tensorflow as tf
weights = tf.Variable(tf.ones((4, 3)))
generator = tf.random.Generator.from_non_deterministic_state()
optimizer = tf.keras.optimizers.SGD(0.1)

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(x @ weights) + generator.normal((8, 3))) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])

for _ in range(3):
    step(tf.ones((8, 4)))
"""
JAX = """
import jax
import jax.numpy as jnp
words = WORDS
table = jnp.array([float(ord(word)) for word in words]) / 100

@jax.jit
def step(weights, x):
    return weights - 0.1 * jax.grad(lambda w: jnp.sum((w * x - 1) ** 2))(weights)

weights = jnp.ones(8)
for _ in range(4):
    weights = step(weights, table)
"""
TWO_SOURCES = """
import numpy as np
from vigil import probe
random = np.random.default_rng(0)
weights = np.ones(4)
for step in range(5):
    images = probe.monitor(random.normal(size=(3, 4)) + np.random.default_rng().normal(), "images")
    order = probe.monitor([float(ord(word)) for word in {"a", "b", "c", "d", "e", "f"}], "order")
    weights = weights - 0.1 * images.mean(0) * order[0]
    probe.step()
"""
PUT = """
import torch
torch.manual_seed(0)
head = torch.nn.Linear(64, 10)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(4):
    index = torch.randint(0, 50, (20000,))
    pooled = torch.zeros(50, 64).index_put_((index,), torch.randn(20000, 64), accumulate=True)
    optimizer.zero_grad()
    head(pooled).square().mean().backward()
    optimizer.step()
"""
OPTIMIZER = """
import os
import torch
class Noisy(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        with torch.no_grad():
            self.param_groups[0]["params"][1].add_(os.urandom(1)[0] / 255)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = Noisy(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    model(torch.randn(32, 8)).square().mean().backward()
    optimizer.step()
"""
LOADER = """
import numpy as np
import torch
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        row = np.full(8, index, np.float32)
        return row + np.random.default_rng().normal() if index == 40 else row
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for x in torch.utils.data.DataLoader(Rows(), batch_size=16, num_workers=2):
    optimizer.zero_grad()
    model(x.float()).square().mean().backward()
    optimizer.step()
"""
DEVICES = """
import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
import torch
torch.manual_seed(0)
weights = torch.nn.Parameter(torch.randn(64, 16))
optimizer = torch.optim.SGD([weights], lr=0.1)
def part(x):
    time.sleep(os.urandom(1)[0] / 2550)
    return (x @ weights.detach()).tanh().sum(0)
with ThreadPoolExecutor(4) as devices:
    for step in range(4):
        shards = torch.randn(64, 64).chunk(4)
        total = torch.zeros(16)
        for done in as_completed([devices.submit(part, shard) for shard in shards]):
            total = total + done.result()
        loss = ((torch.cat(shards) @ weights).tanh().sum(0) * total).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
HASHED = """
import torch
torch.manual_seed(hash("digits"))
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).square().mean().backward()
    optimizer.step()
"""
NESTED_TORCH = """
import os
import torch
from vigil import probe
torch.manual_seed(0)
model, head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
probe.torch(model, optimizer)
for step in range(3):
    batch = {"views": [torch.randn(4, 8), (torch.randn(4, 8), 0.5)], "sizes": (4, 8)}
    if step == 1 and PARTS:
        batch["views"][1][0][2, 3] += os.urandom(1)[0] / 255 + 1e-3
    batch = probe.monitor(batch, "batch")
    one, (other, weight) = batch["views"]
    features = probe.monitor({"one": model(one), "other": model(other)}, "features")
    loss = head(features["one"] - weight * features["other"]).square().mean()
    for accumulated in range(2):
        (loss / 2).backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    probe.step()
"""
NESTED_TENSORFLOW = """
import os
import tensorflow as tf
from vigil import probe
tf.keras.utils.set_random_seed(0)
model, head = tf.keras.layers.Dense(16), tf.keras.layers.Dense(1)
optimizer = tf.keras.optimizers.Adam()
for step in range(3):
    batch = {"views": [tf.random.normal((4, 8)), (tf.random.normal((4, 8)), 0.5)], "sizes": (4, 8)}
    if step == 1 and PARTS:
        other, weight = batch["views"][1]
        batch["views"][1] = (tf.tensor_scatter_nd_add(other, [[2, 3]], [os.urandom(1)[0] / 255 + 1e-3]), weight)
    with tf.GradientTape() as tape:
        one, (other, weight) = probe.monitor(batch, "batch")["views"]
        features = probe.monitor({"one": model(one), "other": model(other)}, "features")
        loss = tf.reduce_mean(head(features["one"] - weight * features["other"]) ** 2)
    if step == 0:
        probe.keras(model)
    variables = [*model.trainable_variables, *head.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    probe.step()
"""
NESTED_JAX = """
import os
import jax
import jax.numpy as jnp
from vigil import probe
def loss(parameters, batch):
    one, (other, weight) = batch["views"]
    features = [view @ parameters["model"]["kernel"] + parameters["model"]["bias"] for view in (one, other)]
    return jnp.mean(((features[0] - weight * features[1]) @ parameters["head"]) ** 2)
keys = jax.random.split(jax.random.key(0), 8)
model = {"kernel": jax.random.normal(keys[0], (8, 16)), "bias": jnp.zeros(16)}
parameters = {"model": model, "head": jax.random.normal(keys[1], (16, 1))}
gradients = jax.jit(jax.grad(probe.jax(loss)))
for step in range(3):
    views = [jax.random.normal(keys[place + step], (4, 8)) for place in (2, 5)]
    batch = {"views": [views[0], (views[1], 0.5)], "sizes": (4, 8)}
    if step == 1 and PARTS:
        other, weight = batch["views"][1]
        batch["views"][1] = (other.at[2, 3].add(os.urandom(1)[0] / 255 + 1e-3), weight)
    batch = probe.monitor(batch, "batch")
    parameters = jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients(parameters, batch))
    probe.step()
"""


@pytest.fixture
def traced(tmp_path, monkeypatch, capfd):
    """Return a function that traces a script, and returns exit code, document and what was printed."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)

    def run(text: str, *more: str) -> tuple[int, Trace, str]:
        script, answer = tmp_path / "script.py", tmp_path / "answer.json"
        script.write_text(text)
        code = main(["trace", str(script), "--json", str(answer), *more])
        return code, Trace.parse(answer.read_text(), where="answer"), capfd.readouterr().out

    return run


def injected(text: str, **places: str) -> str:
    """Return a script with lines put in; `pass` where there are none."""
    for name in ("INJECTED", "AUGMENTED", "GRADIENTS", "UPDATED", "EVALUATED"):
        line = next(each for each in [*(line for line in text.splitlines() if line.strip() == name), ""])
        if line:
            put = textwrap.indent(places.get(name, "pass"), " " * (len(line) - len(name)))
            text = text.replace(line, put)
    return text


def goes_away_by(document: Trace) -> set[str]:
    return {each.change for each in document.changes if each.outcome == "goes away"}


def test_a_script_that_is_the_same_is_said_to_be_so_with_what_could_be_missed(traced) -> None:
    code, found, out = traced(injected(NUMPY), "--runs", "3")
    assert (code, found.state, found.script.runs, found.script.records, found.script.steps) == (0, SAME, 3, 30, 5)
    assert found.bound.runs == pytest.approx(0.776, abs=1e-3)
    assert "THE SAME in 3 runs: a difference that shows in more than 78 % of runs" in " ".join(out.split())


def test_the_order_of_a_set_parts_two_runs_unless_the_hash_seed_is_set(traced) -> None:
    order = 'if step == 2:\n    batch["images"][0, 0] = float(ord(min({"a", "b", "c", "d", "e", "f"}, key=hash)))'
    code, found, _ = traced(injected(NUMPY, INJECTED=order), "--runs", "10")
    assert (code, found.state) == (1, PARTS)
    assert (found.parting.step, found.parting.name, found.parting.elements) == (2, "images", 1)
    assert goes_away_by(found) == {"with PYTHONHASHSEED=0"}


def test_an_unseeded_generator_is_told_from_a_seeded_one(traced) -> None:
    code, found, _ = traced(injected(NUMPY, INJECTED='batch["images"] += np.random.default_rng().normal()'))
    assert (code, found.parting.step, found.parting.name, found.parting.elements) == (1, 0, "images", 12)
    assert goes_away_by(found) == {"with every generator seeded"}


def test_where_nothing_alone_helps_the_fewest_that_do_are_told(traced) -> None:
    code, found, out = traced(TWO_SOURCES)
    assert (code, found.parting.name) == (1, "images")
    assert found.needed == ("with every generator seeded", "with PYTHONHASHSEED=0")
    assert "must be set    with every generator seeded; with PYTHONHASHSEED=0" in out


def test_what_ends_in_an_error_is_no_answer(tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    script = tmp_path / "script.py"
    script.write_text("import numpy\nraise ValueError('no data')\n")
    assert main(["trace", str(script)]) == 3
    assert "no data" in capfd.readouterr().err
    script.write_text("print('nothing to see')\n")
    assert main(["trace", str(script)]) == 3
    assert "found neither torch" in capfd.readouterr().err
    script.write_text("import torch\nprint('nothing to see')\n")
    assert main(["trace", str(script)]) == 3
    assert "carries out no operator of torch" in capfd.readouterr().err


@pytest.fixture
def all_cores():
    """Let what is started have all cores: a worker of pytest-xdist has one, on which threads take turns."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    yield
    os.sched_setaffinity(0, own)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.skipif(os.cpu_count() == 1 or not hasattr(os, "sched_setaffinity"), reason="needs two cores")
def test_a_race_of_pytorch_is_traced_to_its_operator(traced, all_cores) -> None:
    """A real one: the backward of an index adds up in any order; on one thread, or with the switch, in one."""
    code, found, _ = traced(INDEXED, "--runs", "20")
    assert (code, found.parting.kind) == (1, "gradient")
    assert (found.operator.name, found.operator.where) == ("aten.index_put.default", "IndexBackward0")
    results = {trial.what: trial.results for trial in found.trials}
    # Beside other work its threads take turns at times, and sixty calls in a row may agree.
    assert max(results["alone"], results["in a cold process"]) > 1
    assert (results["one thread"], results["switch"]) == (1, 1)
    assert {"on one thread", "with deterministic operators"} <= goes_away_by(found)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.skipif(os.cpu_count() == 1 or not hasattr(os, "sched_setaffinity"), reason="needs two cores")
def test_an_accumulating_write_of_pytorch_is_traced_to_its_operator(traced, all_cores) -> None:
    """The other real one."""
    code, found, _ = traced(PUT, "--runs", "20")
    assert (code, found.parting.step, found.parting.name, found.parting.kind) == (1, 0, "Linear.input", "input")
    assert (found.operator.name, found.operator.where) == ("aten.index_put_.default", "script.py:8")
    assert {"on one thread", "with deterministic operators"} <= goes_away_by(found)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("text", "step", "name", "kind", "by"),
    [
        (OPTIMIZER, 0, "Sequential.0.bias", "variable", set()),
        (LOADER, 2, "Linear.input", "input", {"with every generator seeded"}),
        (DEVICES, 0, "parameter#1", "gradient", set()),
        (HASHED, 0, "Linear", "forward", {"with PYTHONHASHSEED=0"}),
    ],
    ids=["optimizer", "loader", "sum over devices", "hash seed"],
)
def test_other_sources_are_located_to_record_and_step(traced, text, step, name, kind, by) -> None:
    code, found, _ = traced(text, "--runs", "10")
    assert (code, found.parting.step, found.parting.name, found.parting.kind) == (1, step, name, kind)
    assert goes_away_by(found) == by


@pytest.mark.slow
@pytest.mark.torch
def test_a_sum_in_the_order_of_arrival_is_no_operators_fault(traced) -> None:
    """Each addition is right: it is given another part."""
    _, found, _ = traced(DEVICES, "--runs", "10")
    assert found.operator is None
    assert found.beyond.startswith("it comes from outside of the framework: aten.add.Tensor at script.py:17")


@pytest.mark.slow
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NESTED_TORCH, marks=pytest.mark.torch, id="torch"),
        pytest.param(NESTED_TENSORFLOW, marks=pytest.mark.tensorflow, id="tensorflow"),
        pytest.param(NESTED_JAX, marks=pytest.mark.jax, id="jax"),
    ],
)
def test_a_loop_of_ones_own_is_traced_by_the_documented_lines(traced, text, parts) -> None:
    """What differs is one element of a tensor in a tuple, in a list, in a dict, at the second step."""
    code, found, _ = traced(text.replace("PARTS", str(parts)), "--runs", "3")
    assert (code, found.state, found.script.steps) == ((1, PARTS, 3) if parts else (0, SAME, 3))
    if parts:
        parting = found.parting
        assert (parting.step, parting.name, parting.kind, parting.elements) == (1, "batch['views'][1][0]", "forward", 1)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("places", "name", "kind", "step"),
    [
        ({"AUGMENTED": "x = x.flip(0) if random.random() < 0.5 else x"}, "Sequential.input", "input", None),
        ({"AUGMENTED": "x = x + torch.rand((), generator=torch.Generator().manual_seed(torch.seed()))"}, None, None, 0),
        ({"GRADIENTS": "import time; model[3].bias.grad += 1e-6 * (time.perf_counter_ns() % 97)"}, "Sequential.3.bias",
         "variable", 0),
        ({"UPDATED": "import os\nwith torch.no_grad():\n    model[0].weight[0, 0] += os.urandom(1)[0] / 255"}, None, None, None),
        ({"EVALUATED": "model(x + random.random())"}, "Sequential.input", "input", None),
    ],
    ids=["augmentation", "generator", "gradient", "update", "evaluation"],
)  # fmt: skip
def test_injections_are_located_to_record_and_step(traced, places, name, kind, step) -> None:
    code, found, _ = traced(injected(TORCH, **places), "--runs", "10")
    assert (code, found.state) == (1, PARTS)
    if name:
        assert (found.parting.name, found.parting.kind) == (name, kind)
    if step is not None:
        assert found.parting.step == step


@pytest.mark.slow
@pytest.mark.torch
def test_a_script_of_pytorch_that_is_seeded_is_the_same(traced) -> None:
    code, found, _ = traced(injected(TORCH, EVALUATED="model(x)"))
    assert (code, found.state, found.script.steps) == (0, SAME, 4)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(("seed", "parts"), [("0", False), ("", True)])
def test_a_loop_of_keras_parts_where_its_numbers_come_from_nowhere(traced, seed, parts) -> None:
    code, found, _ = traced(KERAS.replace("SEED", seed))
    assert (code == 1) is parts
    if parts:
        assert found.parting.step == 0
        assert "with every generator seeded" in goes_away_by(found)


@pytest.mark.slow
@pytest.mark.jax
@pytest.mark.parametrize(("words", "parts"), [("list('abcdefgh')", False), ("list(set('abcdefgh'))", True)])
def test_a_loop_of_jax_parts_with_the_order_of_a_set(traced, words, parts) -> None:
    code, found, _ = traced(JAX.replace("WORDS", words), "--runs", "10")
    assert (code == 1) is parts
    if parts:
        assert found.parting.name == "step argument[1]"
        assert goes_away_by(found) == {"with PYTHONHASHSEED=0"}


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("parts", [False, True])
def test_a_script_that_imports_keras_first_is_traced_within_fit(traced, parts) -> None:
    """TensorFlow has been imported before Keras is whole; the third batch is augmented without a seed."""
    code, found, _ = traced(FITTED.replace("AUGMENTED", str(parts)), "--runs", "3")
    assert (code == 1) is parts
    assert found.script.steps == 3
    if parts:
        assert (found.parting.step, found.parting.kind) == (2, "input")
        assert goes_away_by(found) == {"with every generator seeded"}


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.jax
def test_jax_is_seen_where_tensorflow_has_imported_it_before(traced) -> None:
    """TensorFlow looks whether JAX is there; what the script computes with it parts all the same."""
    code, found, _ = traced("import tensorflow\n" + JAX.replace("WORDS", "list(set('abcdefgh'))"), "--runs", "10")
    assert (code, found.parting.name) == (1, "step argument[1]")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_graph_of_tensorflow_is_traced_to_its_operator(traced) -> None:
    """The state of the generator comes from the system, by an operator that TensorFlow names."""
    code, found, _ = traced(GRAPH)
    assert (code, found.parting.step, found.parting.kind) == (1, 0, "gradient")
    assert (found.operator.name, found.operator.where, found.operator.is_random) == ("NonDeterministicInts", "script.py:4", True)


@pytest.mark.slow
@pytest.mark.torch
def test_one_step_in_a_thousand_is_found_and_a_number_is_an_input_too(traced) -> None:
    """The operator adds what it is given: it is Python's number that is another one, and no operator's fault."""
    code, found, _ = traced(RARE)
    assert (code, found.parting.step, found.parting.name, found.parting.kind) == (1, 1234, "Linear.input", "input")
    assert found.operator is None
    assert found.beyond.startswith("it comes from outside of the framework: aten.add.Tensor at script.py:")
