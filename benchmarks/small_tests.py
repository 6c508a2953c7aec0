"""How far a published loss may be off because it is of a few random stretches of the text: its standard error.

    vigil reproduce char_gpt --framework torch
    python -m benchmarks.small_tests runs/...-char_gpt-quick-...

NanoGPT's estimate is the mean of 20 random batches. The trained weights of each run are put to 1,200 random stretches of the
validation text, by the oracle; the deviation of a stretch's loss over the root of 240 is the standard error of the estimate.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from runners.contract.data import tiny_shakespeare
from runners.contract.kinds.metrics import classification_totals
from runners.contract.protocol.checkpoint import load_state
from vigil.documents.invocation import Invocation
from vigil.verify.oracle import step as oracle

BATCHES = 20  # NanoGPT's eval_iters
STRETCHES = 1200
_AT_ONCE = 60


def losses_of(run: Path) -> tuple[np.ndarray, int]:
    """Return the mean loss of each of STRETCHES random stretches by a run's final weights, and how many were published."""
    training = json.loads((run / "spec.json").read_text(encoding="utf-8"))["training"]
    state = {name: array.astype(np.float64) for name, array in load_state(run / "final.npz")[0].items()}
    text, block = tiny_shakespeare.load().test, training["model"]["block"]
    starts = np.random.default_rng(0).integers(0, len(text) - block, STRETCHES)
    stretches = text[starts[:, None] + np.arange(block + 1)].astype(np.int32)
    losses = []
    for few in np.split(stretches, STRETCHES // _AT_ONCE):
        (logits,) = (found for found in oracle.forward_passes(training, state, [], few[:, :-1]).values() if found.ndim == 3)
        losses += [
            classification_totals(of_one, classes, np.ones(block))[1] / block
            for of_one, classes in zip(logits, few[:, 1:], strict=True)
        ]
    return np.array(losses), BATCHES * training["batch_size"]


def main(directories: list[Path]) -> None:
    """Print the standard error by each run's weights."""
    print(f"{'mean':>7} {'deviation':>9} {'standard error':>14}  run")
    for directory in directories:
        for name in Invocation.read(directory).runs:
            losses, published = losses_of(directory / name)
            deviation = losses.std(ddof=1)
            print(f"{losses.mean():7.4f} {deviation:9.4f} {deviation / np.sqrt(published):14.4f}  {directory.name}/{name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories of a language model, finished")
    main(parser.parse_args().runs)
