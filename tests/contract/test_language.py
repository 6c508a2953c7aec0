"""Tiny Shakespeare: the text, the stretches that batches are made of, and the masks of dropout."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import tiny_shakespeare
from runners.contract.errors import UnusableData
from runners.contract.kinds.language import CHAR_GPT
from runners.contract.kinds.weights import initial_state
from vigil.recipes.loading import load_recipe

TRAINING = {profile: load_recipe("char_gpt").resolve(profile) for profile in ("quick", "dropout")}


def batches_of(profile="quick", **options):
    """Return a profile's batches of seed 0."""
    training = TRAINING[profile]
    return CHAR_GPT.make_batches(CHAR_GPT.load(training["data"], None), training, seed=0, **options)


def test_the_text_is_the_one_that_is_known():
    """Numbers that nanoGPT's README of the data states: 1,003,854 characters to train on, 111,540 to test, 65 kinds."""
    text = tiny_shakespeare.load()
    assert (len(text.train), len(text.test), int(text.train.max()) + 1) == (1_003_854, 111_540, 65)
    letters = sorted("\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    assert "".join(letters[token] for token in text.train[:30]) == "First Citizen:\nBefore we proce"


def test_another_file_is_refused(tmp_path, monkeypatch):
    """One changed byte, or no file, is an error that names it."""
    content = bytearray(tiny_shakespeare._PATH.read_bytes())
    content[5000] ^= 1
    (tmp_path / "text.xz").write_bytes(content)
    for path, message in ((tmp_path / "text.xz", "its SHA-256 is"), (tmp_path / "none.xz", "cannot be read")):
        monkeypatch.setattr(tiny_shakespeare, "_PATH", path)
        tiny_shakespeare.load.cache_clear()
        with pytest.raises(UnusableData, match=message):
            tiny_shakespeare.load()
    tiny_shakespeare.load.cache_clear()


def test_each_token_is_followed_by_its_class():
    """A batch is stretches of the training text; the classes are the same stretches one place on."""
    tokens, labels = batches_of().train(7)
    assert (tokens.shape, tokens.dtype, set(labels)) == ((12, 64), np.int32, {"classes"})
    np.testing.assert_array_equal(tokens[:, 1:], labels["classes"][:, :-1])
    text = tiny_shakespeare.load().train.tobytes()
    assert all(row.astype(np.uint16).tobytes() in text for row in np.hstack([tokens, labels["classes"][:, -1:]]))


def test_a_batch_is_a_function_of_its_step():
    """The same step gives the same stretches, another gives others."""
    one, other = batches_of(), batches_of()
    np.testing.assert_array_equal(one.train(3)[0], other.train(3)[0])
    assert (one.train(3)[0] != one.train(4)[0]).any()


def test_evaluation_takes_the_test_text_side_by_side():
    """Joined again, the stretches are the text's beginning; each has a weight of 1."""
    found = list(batches_of().evaluation())
    tokens = np.concatenate([tokens for tokens, _, _ in found]).ravel()
    np.testing.assert_array_equal(tokens, tiny_shakespeare.load().test[: len(tokens)])
    assert len(tokens) == 1740 * 64
    assert sum(weights.sum() for _, _, weights in found) == 1740


def test_masks_drop_a_tenth():
    """Each place of dropout has a mask of its own; shares of what is kept lie within 5 deviations of nine tenths."""
    _, labels = batches_of("dropout").train(0)
    masks = {name: mask for name, mask in labels.items() if name != "classes"}
    assert len(masks) == 1 + 3 * 4
    assert (masks["embedding"].shape, masks["block1.attention"].shape) == ((12, 64, 128), (12, 4, 64, 64))
    for mask in masks.values():
        assert set(np.unique(mask)) == {0, 1}
        assert abs(mask.mean() - 0.9) < 5 * 0.3 / mask.size**0.5
    assert (masks["block1.down"] != masks["block2.down"]).any()


def test_under_native_randomness_places_are_a_frameworks_own():
    """Stretches begin where its order says, and no masks are given."""
    order = np.arange(1_003_790)[::-1].copy()
    tokens, labels = batches_of("dropout", order=lambda epoch: order).train(1)
    text = tiny_shakespeare.load().train
    np.testing.assert_array_equal(tokens[0], text[order[12] : order[12] + 64])
    assert set(labels) == {"classes"}


def test_weights_begin_as_published():
    """NanoGPT's: deviation 0.02, but 0.02 / sqrt(8) of kernels that end at a shortcut; scales of 1; 804,096 numbers."""
    state = initial_state(TRAINING["quick"], seed=0)
    params = {name: array for name, array in state.items() if name.startswith("params/")}
    assert sum(array.size for array in params.values()) == 804_096
    for name, array in params.items():
        if name.endswith("scale"):
            assert (array == 1.0).all()
            continue
        expected = 0.02 / 8**0.5 if name.split(".")[-2] in ("projection", "down") else 0.02
        assert abs(array.std() / expected - 1.0) < 5 / (2 * array.size) ** 0.5


def test_a_model_that_knows_nothing_loses_the_logarithm_of_the_vocabulary():
    """Evaluation is the mean over all characters of -log probability; equal logits give log 65."""
    found = CHAR_GPT.evaluate(lambda tokens: np.zeros((*tokens.shape, 65), np.float32), batches_of(), TRAINING["quick"])
    assert found == {"val_loss": pytest.approx(np.log(65), rel=1e-12)}
