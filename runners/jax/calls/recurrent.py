"""Flax: recurrent cells, over a sequence."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import linen, nnx

from runners.contract.audit.ways import Call


def _gates(kernel: Any, recurrent: Any, bias: Any, names: str, places: str) -> dict[str, Any]:
    """Return linen's parameters of several gates. places: which of its two maps has the bias of each gate."""
    found: dict[str, Any] = {}
    parts = (jnp.split(each, len(names), -1) for each in (kernel, recurrent, bias))
    for name, place, into, again, shift in zip(names, places, *parts, strict=True):
        found[f"i{name}"] = {"kernel": into}
        found[f"h{name}"] = {"kernel": again}
        found[f"{place}{name}"]["bias"] = shift
    return found


def _linen(cell: Any, parameters: dict[str, Any], x: Any, carry: Any, **options: Any) -> Any:
    layer = linen.RNN(cell, return_carry=True, **options.pop("made", {}))
    last, outputs = layer.apply({"params": {"cell": parameters}}, x, initial_carry=carry, **options)
    return outputs, last


def _nnx(cell: Any, weights: dict[str, Any], x: Any, carry: Any, **options: Any) -> Any:
    for name, each in weights.items():
        layer, kind = name.split("/")
        getattr(getattr(cell, layer), kind).value = each
    last, outputs = nnx.RNN(cell, return_carry=True, **options.pop("made", {}))(x, initial_carry=carry, **options)
    return outputs, last


def _simple(x: Any, h: Any, activation: str, kernel: Any, recurrent: Any, bias: Any) -> Any:
    cell = linen.SimpleCell(h.shape[-1], activation_fn=getattr(linen, activation))
    return _linen(cell, {"i": {"kernel": kernel, "bias": bias}, "h": {"kernel": recurrent}}, x, h)


def _nnx_simple(x: Any, h: Any, activation: str, kernel: Any, recurrent: Any, bias: Any) -> Any:
    # Of flax's cells this one alone computes in float32 unless told otherwise.
    cell = nnx.SimpleCell(x.shape[-1], h.shape[-1], activation_fn=getattr(nnx, activation), dtype=x.dtype, rngs=nnx.Rngs(0))
    weights = {"dense_i/kernel": kernel, "dense_i/bias": bias, "dense_h/kernel": recurrent}
    return _nnx(cell, weights, x, h)


def _lstm(made: Any, **options: Any) -> Call:
    def call(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
        parameters = _gates(kernel, recurrent, bias, "ifgo", "hhhh")
        outputs, (c, h) = _linen(made(h.shape[-1]), parameters, x, (c, h), made=options)
        return outputs, h, c

    return call


def _nnx_lstm(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any, **options: Any) -> Any:
    cell = nnx.OptimizedLSTMCell(x.shape[-1], h.shape[-1], rngs=nnx.Rngs(0))
    weights = {"dense_i/kernel": kernel, "dense_h/kernel": recurrent, "dense_h/bias": bias}
    outputs, (c, h) = _nnx(cell, weights, x, (c, h), **options)
    return outputs, h, c


def _nnx_lstm_cell(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    cell = nnx.LSTMCell(x.shape[-1], h.shape[-1], rngs=nnx.Rngs(0))
    parameters = _gates(kernel, recurrent, bias, "ifgo", "hhhh")
    parameters["if_"] = parameters.pop("if")
    weights = {f"{name}/{kind}": each for name, layer in parameters.items() for kind, each in layer.items()}
    outputs, (c, h) = _nnx(cell, weights, x, (c, h))
    return outputs, h, c


def _within(outputs: Any, lengths: Any) -> Any:
    """Return outputs with 0 behind each sequence, where flax goes on."""
    return jnp.where((jnp.arange(outputs.shape[1]) < lengths[:, None])[..., None], outputs, 0)


def _lengths(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any, lengths: Any) -> Any:
    parameters = _gates(kernel, recurrent, bias, "ifgo", "hhhh")
    outputs, (c, h) = _linen(linen.OptimizedLSTMCell(h.shape[-1]), parameters, x, (c, h), seq_lengths=lengths)
    return _within(outputs, lengths), h, c


def _nnx_lengths(x: Any, lengths: Any, **given: Any) -> Any:
    outputs, h, c = _nnx_lstm(x, seq_lengths=lengths, **given)
    return _within(outputs, lengths), h, c


def _two_directions(x: Any, h: Any, c: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    cells = [linen.RNN(linen.OptimizedLSTMCell(h.shape[-1])) for _ in range(2)]
    named = ("forward_rnn", "backward_rnn")
    parameters = {
        name: {"cell": _gates(kernel[place], recurrent[place], bias[place], "ifgo", "hhhh")} for place, name in enumerate(named)
    }
    carries = tuple((c[place], h[place]) for place in range(2))
    layer = linen.Bidirectional(*cells, return_carry=True)
    (forward, backward), outputs = layer.apply({"params": parameters}, x, initial_carry=carries)
    return outputs, jnp.stack([forward[1], backward[1]]), jnp.stack([forward[0], backward[0]])


def _gru_parameters(kernel: Any, recurrent: Any, bias: Any, candidate: Any) -> dict[str, Any]:
    found = _gates(kernel, recurrent, bias, "rzn", "iii")
    found["hn"]["bias"] = candidate
    return found


def _gru(x: Any, h: Any, **weights: Any) -> Any:
    return _linen(linen.GRUCell(h.shape[-1]), _gru_parameters(**weights), x, h)


def _gru_lengths(x: Any, h: Any, lengths: Any, **weights: Any) -> Any:
    outputs, last = _linen(linen.GRUCell(h.shape[-1]), _gru_parameters(**weights), x, h, seq_lengths=lengths)
    return _within(outputs, lengths), last


def _nnx_gru(x: Any, h: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    cell = nnx.GRUCell(x.shape[-1], h.shape[-1], rngs=nnx.Rngs(0))
    return _nnx(cell, {"dense_i/kernel": kernel, "dense_i/bias": bias, "dense_h/kernel": recurrent}, x, h)


def _mgu(x: Any, h: Any, kernel: Any, recurrent: Any, bias: Any, candidate: Any) -> Any:
    parameters = _gates(kernel, recurrent, bias, "fn", "ii")
    parameters["hn"]["bias"] = candidate
    return _linen(linen.MGUCell(h.shape[-1]), parameters, x, h)


CALLS: dict[str, dict[str, Call]] = {
    "rnn": {"flax.linen.SimpleCell": _simple, "flax.nnx.SimpleCell": _nnx_simple},
    "lstm": {
        "flax.linen.LSTMCell": _lstm(linen.LSTMCell),
        "flax.linen.OptimizedLSTMCell": _lstm(linen.OptimizedLSTMCell),
        "flax.nnx.LSTMCell": _nnx_lstm_cell,
        "flax.nnx.OptimizedLSTMCell": _nnx_lstm,
    },
    "lstm_backwards": {
        "flax.linen.RNN": _lstm(linen.OptimizedLSTMCell, reverse=True),
        "flax.nnx.RNN": lambda **given: _nnx_lstm(**given, made={"reverse": True}),
    },
    "lstm_lengths": {"flax.linen.RNN": _lengths, "flax.nnx.RNN": _nnx_lengths},
    "lstm_two_directions": {"flax.linen.Bidirectional": _two_directions},
    "gru": {"flax.linen.GRUCell": _gru},
    "gru_unbiased": {"flax.nnx.GRUCell": _nnx_gru},
    "gru_lengths": {"flax.linen.RNN": _gru_lengths},
    "mgu": {"flax.linen.MGUCell": _mgu},
}
