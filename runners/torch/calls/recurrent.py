"""PyTorch: recurrent layers, their cells, and packed sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from runners.contract.audit.ways import Call


def _named(kernel: Any, recurrent: Any, bias: Any, *, suffix: str = "_l0", hidden: Any = None) -> dict[str, Any]:
    """Return weights under PyTorch's names. hidden: the second bias, which is zero otherwise."""
    return {
        f"weight_ih{suffix}": kernel.T,
        f"weight_hh{suffix}": recurrent.T,
        f"bias_ih{suffix}": bias,
        f"bias_hh{suffix}": torch.zeros_like(bias) if hidden is None else hidden,
    }


def _candidate(bias: Any, candidate: Any) -> Any:
    """Return the second bias of a GRU, which has that of the candidate alone."""
    return torch.cat([torch.zeros_like(bias)[: -candidate.shape[0]], candidate])


def _call(module: nn.Module, weights: dict[str, Any], x: Any, state: Any) -> Any:
    return torch.func.functional_call(module.to(x.dtype), weights, (x, state))


def _rnn(x: Any, h: Any, activation: str, **weights: Any) -> Any:
    module = nn.RNN(x.shape[-1], h.shape[-1], nonlinearity=activation, batch_first=True)
    outputs, last = _call(module, _named(**weights), x, h[None])
    return outputs, last[0]


def _stepped(module: nn.Module, weights: dict[str, Any], x: Any, state: Any) -> Any:
    """Return each state and the last one of a cell."""
    outputs = []
    for step in range(x.shape[1]):
        state = _call(module, weights, x[:, step], state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs, 1), state


def _rnn_cell(x: Any, h: Any, activation: str, **weights: Any) -> Any:
    return _stepped(nn.RNNCell(x.shape[-1], h.shape[-1], nonlinearity=activation), _named(**weights, suffix=""), x, h)


def _lstm(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    outputs, (h, c) = _call(nn.LSTM(x.shape[-1], h.shape[-1], batch_first=True), _named(**weights), x, (h[None], c[None]))
    return outputs, h[0], c[0]


def _lstm_time_first(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    module = nn.LSTM(x.shape[-1], h.shape[-1])
    outputs, (h, c) = _call(module, _named(**weights), x.transpose(0, 1), (h[None], c[None]))
    return outputs.transpose(0, 1), h[0], c[0]


def _lstm_cell(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    outputs, (h, c) = _stepped(nn.LSTMCell(x.shape[-1], h.shape[-1]), _named(**weights, suffix=""), x, (h, c))
    return outputs, h, c


def _projected(x: Any, h: Any, c: Any, projection: Any, **weights: Any) -> Any:
    module = nn.LSTM(x.shape[-1], c.shape[-1], batch_first=True, proj_size=1)
    outputs, (h, c) = _call(module, _named(**weights) | {"weight_hr_l0": projection.T}, x, (h[None], c[None]))
    return outputs, h[0], c[0]


def _backwards(x: Any, **given: Any) -> Any:
    return _lstm(x.flip(1), **given)


def _packed(module: nn.Module, weights: dict[str, Any], x: Any, state: Any, lengths: Any) -> Any:
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = torch.func.functional_call(module.to(x.dtype), weights, (packed, state))
    return pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])[0], last


def _lstm_lengths(x: Any, h: Any, c: Any, lengths: Any, **weights: Any) -> Any:
    module = nn.LSTM(x.shape[-1], h.shape[-1], batch_first=True)
    outputs, (h, c) = _packed(module, _named(**weights), x, (h[None], c[None]), lengths)
    return outputs, h[0], c[0]


def _directions(kernel: Any, recurrent: Any, bias: Any, layer: int) -> dict[str, Any]:
    found = {}
    for direction, suffix in enumerate((f"_l{layer}", f"_l{layer}_reverse")):
        found |= _named(kernel[direction], recurrent[direction], bias[direction], suffix=suffix)
    return found


def _two_directions(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    module = nn.LSTM(x.shape[-1], h.shape[-1], batch_first=True, bidirectional=True)
    outputs, (h, c) = _call(module, _directions(**weights, layer=0), x, (h, c))
    return outputs, h, c


def _two_layers(x: Any, h: Any, c: Any, **weights: Any) -> Any:
    module = nn.LSTM(x.shape[-1], h.shape[-1], 2, batch_first=True, bidirectional=True)
    lower = _directions(weights["kernel"], weights["recurrent"], weights["bias"], 0)
    upper = _directions(weights["upper_kernel"], weights["upper_recurrent"], weights["upper_bias"], 1)
    outputs, (h, c) = _call(module, lower | upper, x, (h, c))
    return outputs, h, c


def _gru_weights(kernel: Any, recurrent: Any, bias: Any, candidate: Any, suffix: str) -> dict[str, Any]:
    return _named(kernel, recurrent, bias, suffix=suffix, hidden=_candidate(bias, candidate))


def _gru(x: Any, h: Any, **weights: Any) -> Any:
    module = nn.GRU(x.shape[-1], h.shape[-1], batch_first=True)
    outputs, last = _call(module, _gru_weights(**weights, suffix="_l0"), x, h[None])
    return outputs, last[0]


def _gru_cell(x: Any, h: Any, **weights: Any) -> Any:
    return _stepped(nn.GRUCell(x.shape[-1], h.shape[-1]), _gru_weights(**weights, suffix=""), x, h)


def _gru_lengths(x: Any, h: Any, lengths: Any, **weights: Any) -> Any:
    module = nn.GRU(x.shape[-1], h.shape[-1], batch_first=True)
    outputs, last = _packed(module, _gru_weights(**weights, suffix="_l0"), x, h[None], lengths)
    return outputs, last[0]


CALLS: dict[str, dict[str, Call]] = {
    "rnn": {"torch.nn.RNN": _rnn, "torch.nn.RNNCell": _rnn_cell},
    "lstm": {"torch.nn.LSTM": _lstm, "torch.nn.LSTM (time first)": _lstm_time_first, "torch.nn.LSTMCell": _lstm_cell},
    "lstm_projected": {"torch.nn.LSTM": _projected},
    "lstm_backwards": {"torch.nn.LSTM": _backwards},
    "lstm_lengths": {"torch.nn.LSTM (packed)": _lstm_lengths},
    "lstm_two_directions": {"torch.nn.LSTM (two directions)": _two_directions},
    "lstm_two_layers": {"torch.nn.LSTM (two layers, two directions)": _two_layers},
    "gru": {"torch.nn.GRU": _gru, "torch.nn.GRUCell": _gru_cell},
    "gru_lengths": {"torch.nn.GRU (packed)": _gru_lengths},
}
