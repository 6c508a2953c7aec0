"""Keras: recurrent layers, their cells, and masks."""

from __future__ import annotations

from typing import Any

import keras

from runners.contract.audit.ways import Call
from runners.keras.weights import applied, kind

# Keras's own start is orthogonal, which no backend computes in bfloat16.
_STARTED = {"recurrent_initializer": "zeros"}


def _named(kernel: Any, recurrent: Any, bias: Any) -> dict[str, Any]:
    return {"kernel": kernel, "recurrent_kernel": recurrent, "bias": bias}


def _ordered(array: Any) -> Any:
    """Return gates of a GRU in Keras's order: update, reset, candidate."""
    reset, update, candidate = keras.ops.split(array, 3, axis=-1)
    return keras.ops.concatenate([update, reset, candidate], axis=-1)


def _call(layer: Any, weights: dict[str, Any], x: Any, state: list[Any], **options: Any) -> Any:
    layer.build(tuple(x.shape))
    return applied(layer, weights, x, initial_state=state, **options)


def _options(x: Any, **more: Any) -> dict[str, Any]:
    return {"return_sequences": True, "return_state": True, "dtype": kind(x), **_STARTED, **more}


def _of_cell(made: Any, x: Any, *sizes: Any, **options: Any) -> Any:
    return keras.layers.RNN(
        made(*sizes, dtype=kind(x), **_STARTED, **options), return_sequences=True, return_state=True, dtype=kind(x)
    )


def _rnn(x: Any, h: Any, activation: str, **weights: Any) -> Any:
    layer = keras.layers.SimpleRNN(h.shape[-1], activation=activation, **_options(x))
    return _call(layer, _named(**weights), x, [h])


def _rnn_cell(x: Any, h: Any, activation: str, **weights: Any) -> Any:
    return _call(_of_cell(keras.layers.SimpleRNNCell, x, h.shape[-1], activation=activation), _named(**weights), x, [h])


def _lstm(**made: Any) -> Call:
    def call(x: Any, h: Any, c: Any, **weights: Any) -> Any:
        return _call(keras.layers.LSTM(h.shape[-1], **_options(x, **made)), _named(**weights), x, [h, c])

    return call


def _lstm_cell(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    return _call(_of_cell(keras.layers.LSTMCell, x, h.shape[-1]), _named(**weights), x, [h, c])


def _masked(x: Any, lengths: Any) -> Any:
    return keras.ops.arange(x.shape[1])[None] < keras.ops.cast(lengths, "int32")[:, None]


def _lstm_lengths(x: Any, h: Any, c: Any, lengths: Any, **weights: Any) -> Any:
    layer = keras.layers.LSTM(h.shape[-1], **_options(x, zero_output_for_mask=True))
    return _call(layer, _named(**weights), x, [h, c], mask=_masked(x, lengths))


def _lstm_repeated(x: Any, h: Any, c: Any, lengths: Any, **weights: Any) -> Any:
    """Return the same of a layer that repeats its last output behind a sequence."""
    mask = _masked(x, lengths)
    outputs, h, c = _call(keras.layers.LSTM(h.shape[-1], **_options(x)), _named(**weights), x, [h, c], mask=mask)
    return keras.ops.where(mask[..., None], outputs, keras.ops.zeros_like(outputs)), h, c


def _two_directions(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    layer = keras.layers.Bidirectional(keras.layers.LSTM(h.shape[-1], name="lstm", **_options(x)), dtype=kind(x))
    layer.build(tuple(x.shape))
    weights: dict[str, Any] = {}
    for direction, name in enumerate(("forward_lstm", "backward_lstm")):
        named = _named(kernel[direction], recurrent[direction], bias[direction])
        weights |= {f"{name}/lstm_cell/{end}": each for end, each in named.items()}
    outputs, *last = applied(layer, weights, x, initial_state=[h[0], c[0], h[1], c[1]])
    return outputs, keras.ops.stack(last[::2]), keras.ops.stack(last[1::2])


def _gru_weights(kernel: Any, recurrent: Any, bias: Any, candidate: Any = None) -> dict[str, Any]:
    bias = _ordered(bias)
    if candidate is not None:
        rest = keras.ops.zeros_like(bias)[: -candidate.shape[0]]
        bias = keras.ops.stack([bias, keras.ops.concatenate([rest, candidate])])
    return _named(_ordered(kernel), _ordered(recurrent), bias)


def _gru(**made: Any) -> Call:
    def call(x: Any, h: Any, **weights: Any) -> Any:
        return _call(keras.layers.GRU(h.shape[-1], **_options(x, **made)), _gru_weights(**weights), x, [h])

    return call


def _gru_cell(**made: Any) -> Call:
    def call(x: Any, h: Any, **weights: Any) -> Any:
        return _call(_of_cell(keras.layers.GRUCell, x, h.shape[-1], **made), _gru_weights(**weights), x, [h])

    return call


def _gru_lengths(x: Any, h: Any, lengths: Any, **weights: Any) -> Any:
    layer = keras.layers.GRU(h.shape[-1], **_options(x, zero_output_for_mask=True))
    return _call(layer, _gru_weights(**weights), x, [h], mask=_masked(x, lengths))


_RNN = "keras.layers.RNN"

CALLS: dict[str, dict[str, Call]] = {
    "rnn": {"keras.layers.SimpleRNN": _rnn, f"{_RNN} (SimpleRNNCell)": _rnn_cell, "keras.layers.SimpleRNNCell": _rnn_cell},
    "lstm": {
        "keras.layers.LSTM": _lstm(),
        "keras.layers.LSTM (unrolled)": _lstm(unroll=True),
        f"{_RNN} (LSTMCell)": _lstm_cell,
        "keras.layers.LSTMCell": _lstm_cell,
    },
    "lstm_backwards": {"keras.layers.LSTM": _lstm(go_backwards=True)},
    "lstm_lengths": {"keras.layers.LSTM": _lstm_lengths, "keras.layers.LSTM (repeating)": _lstm_repeated},
    "lstm_two_directions": {"keras.layers.Bidirectional": _two_directions},
    "gru": {"keras.layers.GRU": _gru(), f"{_RNN} (GRUCell)": _gru_cell(), "keras.layers.GRUCell": _gru_cell()},
    "gru_reset_before": {
        "keras.layers.GRU": _gru(reset_after=False),
        f"{_RNN} (GRUCell)": _gru_cell(reset_after=False),
    },
    "gru_lengths": {"keras.layers.GRU": _gru_lengths},
}
