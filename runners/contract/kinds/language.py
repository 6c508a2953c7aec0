"""A small language model on characters: nanoGPT's, judged by how well it foretells the text that it was not trained on.

Every place of the training text is an example: the characters from there on, each with the one that follows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.data import streams, texts, tiny_shakespeare
from runners.contract.data.batches import Batches
from runners.contract.data.texts import TextSet
from runners.contract.errors import UnusableData
from runners.contract.kinds.kind import Kind, Model, Predict
from runners.contract.kinds.metrics import classification_totals
from runners.contract.kinds.parameters import ParameterTable


class TextBatches(Batches):
    """Batches of stretches of text: tokens int32 [batch, block], and labels in several arrays.

    The labels of a training batch:

        classes: int32 [batch, block], the token that follows each.
        A mask for each place where the model drops something, by the place's name: uint8, 0 where it does. [batch, block, width],
            or [batch, head, block, block] of an attention. Under native randomness, frameworks draw their own.

    Where stretches begin is drawn with replacement, as published; under native randomness it is the framework's own permutation.
    """

    def __init__(
        self, text: TextSet, training: dict[str, Any], *, seed: int, order: Callable[[int], np.ndarray] | None = None
    ) -> None:
        require_fit(text, training)
        self._text, self._seed = text, seed
        self._starts = self._drawn_starts if order is None else self._index
        if order is not None:
            self._order, self._epoch_order = order, (-1, np.empty(0))
        self._batch_size, self._evaluation_batch_size = training["batch_size"], training["evaluation_batch_size"]
        self._block, data = training["model"]["block"], training["data"]
        self._places, self._n_test = data["n_train"], data["n_test"]
        self._masks = mask_shapes(training["model"]) if order is None else {}
        self._dropout = training["model"]["dropout"]
        self.steps_per_epoch = self._places // self._batch_size

    def train(self, step: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the batch of step `step`: tokens int32 [batch, block], and labels in several arrays."""
        tokens, classes = self._stretches(self._text.train, self._starts(step))
        masks = {name: self._mask(name, shape, step) for name, shape in self._masks.items()}
        return tokens, {"classes": classes, **masks}

    def evaluation(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (tokens, classes, weights) of the test text, cut into stretches side by side; every weight is 1."""
        size = self._evaluation_batch_size
        for first in range(0, self._n_test, size):
            starts = self._block * np.arange(first, first + size)
            yield *self._stretches(self._text.test, starts), np.ones(size, np.float32)

    def _drawn_starts(self, step: int) -> np.ndarray:
        return streams.integers(self._seed, "text/start", step, count=self._batch_size, below=self._places)

    def _stretches(self, text: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stretches = text[starts[:, None] + np.arange(self._block + 1)].astype(np.int32)
        return stretches[:, :-1].copy(), stretches[:, 1:].copy()

    def _mask(self, name: str, shape: tuple[int, ...], step: int) -> np.ndarray:
        drawn = streams.integers(self._seed, f"dropout/{name}", step, count=self._batch_size * int(np.prod(shape)), below=2**32)
        return (drawn >= self._dropout * 2**32).astype(np.uint8).reshape(self._batch_size, *shape)


def places(characters: int, block: int) -> int:
    """Return at how many places of a text a training example may begin: each has the token that follows its last one."""
    return max(0, characters - block)


def stretches(characters: int, block: int) -> int:
    """Return how many test examples a text is cut into, side by side."""
    return max(0, (characters - 1) // block)


def require_fit(text: TextSet, training: dict[str, Any]) -> None:
    """Raise UnusableData unless a text has the characters that a recipe's model is made for, and as many as are asked for."""
    data, block, found = training["data"], training["model"]["block"], len(text.characters)
    if found != training["model"]["vocabulary"]:
        raise UnusableData(
            f"the text has {found} kinds of characters, the recipe's model.vocabulary is {training['model']['vocabulary']}. "
            f"Write {found} there."
        )
    for key, most in (("n_train", places(len(text.train), block)), ("n_test", stretches(len(text.test), block))):
        if data[key] > most:
            raise UnusableData(
                f"the recipe's data.{key} is {data[key]}; with a model.block of {block} the text has {most}. Ask for as many at "
                "most."
            )


def mask_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """Return the places where a model drops something, with the shape of one row's mask; none where nothing is dropped."""
    if not model["dropout"]:
        return {}
    of_stream, of_heads = (model["block"], model["width"]), (model["heads"], model["block"], model["block"])
    shapes: dict[str, tuple[int, ...]] = {"embedding": of_stream}
    for name in block_names(model):
        shapes |= {f"{name}.attention": of_heads, f"{name}.projection": of_stream, f"{name}.down": of_stream}
    return shapes


def block_names(model: Model) -> list[str]:
    """Return the names of the model's blocks, in forward order."""
    return [f"block{number}" for number in range(1, model["layers"] + 1)]


def evaluate(predict: Predict, batches: Batches, training: dict[str, Any]) -> dict[str, float]:
    """Return the mean over the test text's characters of -log probability of the one that follows, in nats."""
    del training
    totals = np.zeros(3)
    for tokens, classes, weights in batches.evaluation():
        logits = predict(tokens)
        of_each = np.repeat(weights, classes.shape[1])
        totals += classification_totals(logits.reshape(-1, logits.shape[-1]), classes.ravel(), of_each)
    _, loss, count = totals.tolist()
    return {"val_loss": loss / count}


def _load(data: dict[str, Any], directory: str | None) -> TextSet:
    if data.get("checksum"):
        return texts.read(Path(directory or "") / f"{data['name']}.npz", expected=data["checksum"])
    return tiny_shakespeare.load()


def _blank(model: Model, rows: int) -> np.ndarray:
    return np.zeros((rows, model["block"]), np.int32)


def _has_whole_attention(model: Model) -> bool:
    # Where shares are dropped by masks that frameworks share, the model computes it step by step.
    return not model["dropout"]


def _tabulate(model: Model) -> ParameterTable:
    table, width = ParameterTable(), model["width"]
    table.embedding("tokens", model["vocabulary"], width)
    table.embedding("positions", model["block"], width)
    for name in block_names(model):
        table.layer_norm(f"{name}.norm1", width)
        table.kernel(f"{name}.qkv", width, 3 * width, init="dense")
        table.kernel(f"{name}.projection", width, width, init="projection")
        table.layer_norm(f"{name}.norm2", width)
        table.kernel(f"{name}.up", width, model["hidden"], init="dense")
        table.kernel(f"{name}.down", model["hidden"], width, init="projection")
    table.layer_norm("norm", width)
    return table


CHAR_GPT = Kind(
    tabulate=_tabulate,
    load=_load,
    batches=TextBatches,
    evaluate=evaluate,
    chance=lambda training, data: math.log(training["model"]["vocabulary"]),
    blank=_blank,
    chooses_attention=_has_whole_attention,
)
"""What each kind of recipe needs: parameters, batches, evaluation."""
