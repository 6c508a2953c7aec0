"""What a person sees of a run under way: whole epochs where a last batch is kept, and a metric by its unit."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from vigil.progress import RunDisplay, bar_on
from vigil.recipes.loading import load_recipe


@pytest.mark.parametrize(
    ("recipe", "step", "metrics", "expected"),
    [
        ("digits_mlp", 135, {"train_loss": 0.0428982}, "step 135/135, epoch 15.0, loss 0.050, train_loss 0.042898"),
        ("resnet_cifar", 600, {"test_accuracy": 88.5333}, "step 600/1200, epoch 50.0, loss 0.050, test_accuracy 88.53"),
    ],
)
def test_epochs_and_metrics_are_the_recipes(capsys, recipe, step, metrics, expected):
    """1,797 images in batches of 200 are nine steps an epoch, 384 in batches of 32 are twelve."""
    spec = SimpleNamespace(training=load_recipe(recipe).resolve("quick"), seed=0)
    display = RunDisplay()
    display.start(spec, 0, 1)
    display.event({"kind": "steps", "step": step, "losses": [0.05], "time": 1.0})
    display.event({"kind": "evaluated", "metrics": metrics})
    assert capsys.readouterr().err.splitlines()[-1] == f"seed 0 (1/1): {expected}"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_share_and_time_left_are_whole_at_any_width(width):
    """What does not fit is cut from the details, which are the last to be read."""
    drawn = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    bar = bar_on(drawn)
    status = "epoch 91.7, loss 0.050, test_accuracy 88.50, 320 images/s, and then something that is longer than any room"
    bar.add_task("seed 0 (1/1)", total=100, completed=92, left="1 min 40 s left", status=status)
    drawn.print(bar.get_renderable())
    (line,) = drawn.file.getvalue().splitlines()
    assert all(words in line for words in ("seed 0 (1/1)", "92%", "1 min 40 s left", "epoch 91.7"))
    assert len(line) <= width
