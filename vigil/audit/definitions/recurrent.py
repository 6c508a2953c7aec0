"""Recurrent layers: what is at one step depends on what was at the step before.

Tensors are [batch, time, features]. Matrices are [in, out], those of several gates side by side: input, forget, candidate and
output of an LSTM; reset, update and candidate of a GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit

from vigil.audit.arguments import Argument, drawn, normal
from vigil.audit.entry import operator

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn."
KERAS = "https://keras.io/api/layers/recurrent_layers/"
FLAX = "https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html"
_SIZES = tuple(
    {"b": b, "t": t, "n": n, "h": h, "3h": 3 * h, "4h": 4 * h, "2h": 2 * h}
    for b, t, n, h in ((2, 3, 3, 2), (1, 1, 1, 1), (3, 7, 5, 7), (2, 33, 9, 16), (1, 65, 4, 9), (1, 3, 17, 65))
)
State = tuple[np.ndarray, ...]
Cell = Callable[[np.ndarray, State], State]
_X = {"x": normal("b", "t", "n")}


def _state(*names: str) -> dict[str, Argument]:
    return {name: normal("b", "h", scale=0.5) for name in names}


def _weights(gates: str) -> dict[str, Argument]:
    return {
        "kernel": normal("n", gates, scale=0.3),
        "recurrent": normal("h", gates, scale=0.2),
        "bias": normal(gates, scale=0.3),
    }


def _lengths() -> Argument:
    return drawn(lambda random, shape, sizes: random.integers(1, sizes["t"] + 1, shape), "b", is_differentiated=False)


def _run(cell: Cell, x: np.ndarray, state: State, lengths: np.ndarray | None = None) -> tuple[np.ndarray, State]:
    """Return the first part of the state after each step, and the last state; 0 stands behind a sequence that has a length."""
    outputs = []
    for step in range(x.shape[1]):
        moved = cell(x[:, step], state)
        if lengths is None:
            state = moved
            outputs.append(state[0])
        else:
            goes_on = (step < lengths)[:, None]
            state = tuple(np.where(goes_on, new, old) for new, old in zip(moved, state, strict=True))
            outputs.append(np.where(goes_on, state[0], 0.0))
    return np.stack(outputs, 1), state


def _simple(kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, activation: str = "tanh") -> Cell:
    def cell(x: np.ndarray, state: State) -> State:
        found = x @ kernel + state[0] @ recurrent + bias
        return (np.tanh(found) if activation == "tanh" else np.maximum(found, 0.0),)

    return cell


def _lstm(kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, projection: np.ndarray | None = None) -> Cell:
    def cell(x: np.ndarray, state: State) -> State:
        i, f, g, o = np.split(x @ kernel + state[0] @ recurrent + bias, 4, -1)
        c = expit(f) * state[1] + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        return (h if projection is None else h @ projection), c

    return cell


def _gru(kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, candidate: np.ndarray | None) -> Cell:
    """Return the cell. candidate: the bias within the reset gate; None: the gate is applied to the state itself."""

    def cell(x: np.ndarray, state: State) -> State:
        [h] = state
        xr, xz, xn = np.split(x @ kernel + bias, 3, -1)
        wr, wz, wn = np.split(recurrent, 3, -1)
        r, z = expit(xr + h @ wr), expit(xz + h @ wz)
        n = np.tanh(xn + ((r * h) @ wn if candidate is None else r * (h @ wn + candidate)))
        return ((1.0 - z) * n + z * h,)

    return cell


@operator(
    source=f"{TORCH}RNN.html",
    sizes=_SIZES,
    parameters=[{"activation": "relu"}, {"activation": "tanh"}],  # no gates in low precision, which has the last set
    **_X,
    **_state("h"),
    **_weights("h"),
)
def rnn(
    x: np.ndarray, h: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, activation: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return each state and the last one of an Elman network."""
    outputs, (last,) = _run(_simple(kernel, recurrent, bias, activation), x, (h,))
    return outputs, last


@operator(source=f"{TORCH}LSTM.html", sizes=_SIZES, **_X, **_state("h", "c"), **_weights("4h"))
def lstm(x: np.ndarray, h: np.ndarray, c: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> State:
    """Return each hidden state, the last one, and the last state of the cell."""
    outputs, last = _run(_lstm(kernel, recurrent, bias), x, (h, c))
    return (outputs, *last)


@operator(
    source=f"{TORCH}LSTM.html",
    sizes=[each for each in _SIZES if each["h"] > 1],
    **_X,
    h=normal("b", 1, scale=0.5),
    c=normal("b", "h", scale=0.5),
    **(_weights("4h") | {"recurrent": normal(1, "4h", scale=0.3)}),
    projection=normal("h", 1, scale=0.3),
)
def lstm_projected(
    x: np.ndarray,
    h: np.ndarray,
    c: np.ndarray,
    kernel: np.ndarray,
    recurrent: np.ndarray,
    bias: np.ndarray,
    projection: np.ndarray,
) -> State:
    """Return the same of an LSTM whose hidden state is projected to one number."""
    outputs, last = _run(_lstm(kernel, recurrent, bias, projection), x, (h, c))
    return (outputs, *last)


@operator(source=f"{KERAS}lstm/", sizes=_SIZES, **_X, **_state("h", "c"), **_weights("4h"))
def lstm_backwards(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> State:
    """Return the same of a sequence that is read from its end; the first output is the one of the last step in time."""
    outputs, last = _run(_lstm(kernel, recurrent, bias), x[:, ::-1], (h, c))
    return (outputs, *last)


@operator(source=f"{KERAS}lstm/", sizes=_SIZES, **_X, **_state("h", "c"), **_weights("4h"), lengths=_lengths())
def lstm_lengths(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, lengths: np.ndarray
) -> State:
    """Return the same of sequences of some lengths: 0 stands behind each, and its last state is the one at its end."""
    outputs, last = _run(_lstm(kernel, recurrent, bias), x, (h, c), lengths)
    return (outputs, *last)


def _both(cell: Callable[..., Cell], x: np.ndarray, states: Sequence[State], weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return outputs of both directions side by side, and last states [direction, batch, h] of each part."""
    found = []
    for direction, part in enumerate((x, x[:, ::-1])):
        outputs, last = _run(cell(*(each[direction] for each in weights)), part, states[direction])
        found.append((outputs[:, ::-1] if direction else outputs, last))
    lasts = [np.stack([last[place] for _, last in found]) for place in range(len(found[0][1]))]
    return [np.concatenate([outputs for outputs, _ in found], -1), *lasts]


_TWO = {
    "kernel": normal(2, "n", "4h", scale=0.3),
    "recurrent": normal(2, "h", "4h", scale=0.2),
    "bias": normal(2, "4h", scale=0.3),
}


@operator(source=f"{TORCH}LSTM.html", sizes=_SIZES, **_X, h=normal(2, "b", "h"), c=normal(2, "b", "h"), **_TWO)
def lstm_two_directions(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> State:
    """Return an LSTM of both directions: outputs side by side, and last states [direction, batch, h]."""
    return tuple(_both(_lstm, x, list(zip(h, c, strict=True)), (kernel, recurrent, bias)))


@operator(
    source=f"{TORCH}LSTM.html",
    sizes=_SIZES[:4],
    **_X,
    h=normal(4, "b", "h"),
    c=normal(4, "b", "h"),
    **_TWO,
    upper_kernel=normal(2, "2h", "4h", scale=0.2),
    upper_recurrent=normal(2, "h", "4h", scale=0.2),
    upper_bias=normal(2, "4h", scale=0.3),
)
def lstm_two_layers(x, h, c, kernel, recurrent, bias, upper_kernel, upper_recurrent, upper_bias):
    """Return two layers of both directions: the upper one reads both of the lower one."""
    states = list(zip(h, c, strict=True))
    middle, h0, c0 = _both(_lstm, x, states[:2], (kernel, recurrent, bias))
    outputs, h1, c1 = _both(_lstm, middle, states[2:], (upper_kernel, upper_recurrent, upper_bias))
    return outputs, np.concatenate([h0, h1]), np.concatenate([c0, c1])


@operator(source=f"{TORCH}GRU.html", sizes=_SIZES, **_X, **_state("h"), **_weights("3h"), candidate=normal("h", scale=0.3))
def gru(
    x: np.ndarray, h: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, candidate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each state and the last one of a GRU, whose reset gate is applied behind the recurrent matrix and a bias."""
    outputs, (last,) = _run(_gru(kernel, recurrent, bias, candidate), x, (h,))
    return outputs, last


@operator(source=f"{KERAS}gru/", sizes=_SIZES, **_X, **_state("h"), **_weights("3h"))
def gru_reset_before(
    x: np.ndarray, h: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with the reset gate before the recurrent matrix."""
    outputs, (last,) = _run(_gru(kernel, recurrent, bias, None), x, (h,))
    return outputs, last


@operator(source=FLAX, sizes=_SIZES, **_X, **_state("h"), **_weights("3h"))
def gru_unbiased(
    x: np.ndarray, h: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with the reset gate behind the recurrent matrix, which has no bias."""
    outputs, (last,) = _run(_gru(kernel, recurrent, bias, np.zeros(h.shape[-1])), x, (h,))
    return outputs, last


@operator(
    source=f"{TORCH}GRU.html",
    sizes=_SIZES,
    **_X,
    **_state("h"),
    **_weights("3h"),
    candidate=normal("h", scale=0.3),
    lengths=_lengths(),
)
def gru_lengths(x, h, kernel, recurrent, bias, candidate, lengths):
    """Return the same of sequences of some lengths."""
    outputs, (last,) = _run(_gru(kernel, recurrent, bias, candidate), x, (h,), lengths)
    return outputs, last


@operator(source=FLAX, sizes=_SIZES, **_X, **_state("h"), **_weights("2h"), candidate=normal("h", scale=0.3))
def mgu(
    x: np.ndarray, h: np.ndarray, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray, candidate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a minimal gated unit, which has a forget gate and a candidate alone."""

    def cell(x: np.ndarray, state: State) -> State:
        [h] = state
        xf, xn = np.split(x @ kernel + bias, 2, -1)
        wf, wn = np.split(recurrent, 2, -1)
        f = expit(xf + h @ wf)
        return ((1.0 - f) * np.tanh(xn + f * (h @ wn + candidate)) + f * h,)

    outputs, (last,) = _run(cell, x, (h,))
    return outputs, last
