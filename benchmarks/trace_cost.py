"""What tracing costs: a step of a script under `vigil trace` beside a plain one, in turns.

    python -m benchmarks.trace_cost [torch tensorflow jax]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reports.tables import markdown_table
from runners.contract.trace.records import Ask
from vigil.determinism.judge import cost_of
from vigil.trace.processes import Script, run_traced

_STEPS, _TURNS = 30, 5
_TIMED = """
import statistics, time
times = []
for number in range({steps}):
    began = time.perf_counter()
    step()
    times.append(time.perf_counter() - began)
print("seconds", statistics.median(times[5:]))
"""
_SCRIPTS = {
    "torch": """
import torch
torch.manual_seed(0)
first = [torch.nn.Conv2d(3, 32, 3), torch.nn.BatchNorm2d(32), torch.nn.ReLU()]
last = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)]
model = torch.nn.Sequential(*first, torch.nn.Conv2d(32, 64, 3, stride=2), torch.nn.ReLU(), *last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
def step():
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "tensorflow": """
import tensorflow as tf
tf.keras.utils.set_random_seed(0)
L = tf.keras.layers
model = tf.keras.Sequential([L.Conv2D(32, 3), L.BatchNormalization(), L.ReLU(), L.Conv2D(64, 3, strides=2), L.ReLU(),
                             L.GlobalAveragePooling2D(), L.Dense(10)])
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
x, y = tf.random.normal((64, 32, 32, 3)), tf.random.uniform((64,), maxval=10, dtype=tf.int32)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
def step():
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
""",
    "jax": """
import jax
import jax.numpy as jnp
from jax import lax
keys = jax.random.split(jax.random.key(0), 4)
weights = {"a": jax.random.normal(keys[0], (3, 3, 3, 32)) / 5, "b": jax.random.normal(keys[1], (3, 3, 32, 64)) / 17,
           "c": jax.random.normal(keys[2], (64, 10)) / 8}
x, y = jax.random.normal(keys[3], (64, 32, 32, 3)), jnp.arange(64) % 10
def loss(weights):
    how = {"padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    h = jax.nn.relu(lax.conv_general_dilated(x, weights["a"], (1, 1), **how))
    h = jax.nn.relu(lax.conv_general_dilated(h, weights["b"], (2, 2), **how)).mean((1, 2)) @ weights["c"]
    return -jnp.take_along_axis(jax.nn.log_softmax(h), y[:, None], 1).mean()
@jax.jit
def update(weights):
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights))
def step():
    global weights
    weights = jax.block_until_ready(update(weights))
""",
}


def measure(framework: str, folder: Path) -> tuple[str, ...]:
    """Return a row: the framework, seconds of a plain step, and the ratio of pairs with its interval."""
    script = folder / f"step_of_{framework}.py"
    script.write_text(_SCRIPTS[framework] + _TIMED.format(steps=_STEPS), encoding="utf-8")
    plain, traced = [], []
    for turn in range(_TURNS):
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        plain.append(_seconds(done.stdout.splitlines()))
        run = run_traced(Script(script, (), Path(sys.executable), None), folder / f"{framework}-{turn}", Ask())
        if run.problem:
            raise SystemExit(f"{framework}: {run.problem}: {run.log[-1:]}")
        traced.append(_seconds(run.log))
    cost = cost_of([1 / each for each in plain], [1 / each for each in traced])
    assert cost is not None
    ratio = f"{cost.ratio:.2f} [{cost.low:.2f}, {cost.high:.2f}]"
    return framework, f"{1000 * statistics.median(plain):.1f} ms", ratio


def _seconds(lines: Sequence[str]) -> float:
    [said] = [line for line in lines if line.startswith("seconds ")]
    return float(said.split()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace_cost", description=__doc__)
    parser.add_argument("frameworks", nargs="*", default=list(_SCRIPTS), help=f"some of {', '.join(_SCRIPTS)}")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(framework, Path(folder)) for framework in given.frameworks]
    print("\n".join(markdown_table(("framework", "a plain step", "a traced step takes so many times as long"), rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
