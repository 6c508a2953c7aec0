"""The oracle's transformer: its gradients are what central differences say, its functions what papers and tables say."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from tests.runners.harness import make_spec
from vigil.verify.oracle import operations
from vigil.verify.oracle import step as oracle


@pytest.fixture(scope="module", params=[0.0, 0.25])
def asked(request):
    """Return a narrow model's training, a state that is not the first one, and a batch."""
    training = make_spec("torch", "char_gpt").training
    training["model"] = {**training["model"], "dropout": request.param}
    kind = kind_of(training)
    batch = kind.make_batches(kind.load(training["data"], None), training, seed=0).train(0)
    generator = np.random.default_rng(0)
    state = {name: array.astype(np.float64) for name, array in weights.initial_state(training, seed=0).items()}
    params = {name: array for name, array in state.items() if name.startswith("params/")}
    moved = {name: array + 0.1 * generator.normal(size=array.shape) for name, array in params.items()}
    return training, state | moved, batch


def test_gradients_are_central_differences(asked):
    """Of every parameter, along a random direction, to 1e-6 of the largest."""
    training, state, batch = asked
    found = oracle.train_step(training, state, [batch], 0.0)
    generator = np.random.default_rng(1)
    for name in (name for name in state if name.startswith("params/")):
        direction = generator.normal(size=state[name].shape)
        ends = [
            float(oracle.train_step(training, {**state, name: state[name] + step * direction}, [batch], 0.0)["loss"])
            for step in (1e-6, -1e-6)
        ]
        slope = (found[name.replace("params", "parameter_gradient")] * direction).sum()
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-6, abs=1e-8), name


def test_gelu_is_the_table_of_the_normal_distribution():
    """x times Phi(x): Phi(1) is 0.8413447, Phi(-2) 0.0227501."""
    value, _ = operations.gelu(np.array([0.0, 1.0, -2.0]), rounded=np.asarray)
    np.testing.assert_allclose(value, [0.0, 0.8413447461, -2 * 0.0227501319], rtol=1e-8)


def test_shares_of_later_places_are_nothing():
    """Equal scores give a place 1 / n of itself and each of those before it, and no gradient to those after it."""
    shares, backward = operations.causal_softmax(np.zeros((1, 1, 3, 3)))
    np.testing.assert_allclose(shares[0, 0], [[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    (gradient,) = backward(np.random.default_rng(0).normal(size=shares.shape))
    assert not np.triu(gradient[0, 0], 1).any()


def test_one_key_that_is_much_nearer_gives_its_value():
    """Attention looks up: a query along one key, far from the other, has that one's value."""
    query, key, value = np.array([[9.0, 0], [0, 9.0]]), 9.0 * np.eye(2), np.array([[1.0, 2], [3, 4]])
    x = np.concatenate([query, key, value], axis=1)[None]
    scores, _ = operations.attention_scores(x, heads=1)
    assert scores[0, 0, 1, 1] == pytest.approx(81 / 2**0.5)
    shares, _ = operations.causal_softmax(scores)
    found, _ = operations.attention_values(shares, x, heads=1)
    np.testing.assert_allclose(found[0], value, rtol=1e-12)


def test_a_token_that_is_used_twice_has_the_sum_of_both_gradients():
    """Rows of an embedding are added up, and so are those of a place over the batch."""
    tokens = np.array([[1, 1], [0, 1]])
    _, backward = operations.embedding_sum(tokens, np.zeros((3, 2)), np.zeros((4, 2)))
    gradient = np.arange(8.0).reshape(2, 2, 2)
    _, of_tokens, of_places = backward(gradient)
    np.testing.assert_array_equal(of_tokens, [gradient[1, 0], gradient[0].sum(axis=0) + gradient[1, 1], [0, 0]])
    np.testing.assert_array_equal(of_places, [gradient[:, 0].sum(axis=0), gradient[:, 1].sum(axis=0), [0, 0], [0, 0]])
