"""The picture of a verification, verify.png: every tensor's distance as a multiple of its noise floor.

From left to right as a step makes them: forward, backward, then what the optimizer keeps, and parameters. A fault shows as a wall
that begins at its origin; the first five tensors that are out are named. Matplotlib is imported where it draws, for the import
alone takes most of a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.contract.kinds.table import KINDS
from runners.contract.optimizers import optimizer_of
from runners.contract.protocol.spec import read_spec
from vigil.documents.verdict import Verdict
from vigil.documents.verification import TensorDifference, Verification, times

FILE_NAME = "verify.png"
RUNNER = "answers"
_SECTIONS = ("forward", "backward: gradients", "{slots}", "parameters")
# Okabe and Ito's: what is within is grey and round, what is out orange and pointed, for eyes of every kind.
_WITHIN, _OUT, _TEXT = "#8593a6", "#d55e00", "#a34700"
_OUT_STYLE = {"s": 44, "marker": "^", "color": _OUT, "edgecolors": "white", "linewidths": 0.6, "zorder": 4}
_INFINITE = _OUT_STYLE | {"s": 70, "edgecolors": "black", "linewidths": 1.0, "zorder": 5}
_SECTION_OF = {"forward": 0, "evaluation": 0, "backward": 1}
_NAMED = 5
_MOST_LABELS = 90


def draw_picture(directory: Path) -> Path:
    """Draw verify.json of a directory as verify.png beside it; return its path."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    document = Verification.read(directory)
    training = read_spec(directory / RUNNER).training
    model = training["model"]
    layers = list(dict.fromkeys(name.rpartition(".")[0] for name in KINDS[model["name"]].parameter_shapes(model)))
    slots = optimizer_of(training).slots
    order = in_order({plain(each.tensor) for each in document.tensors}, layers, slots=slots)
    figure = Figure(figsize=(14, 6.4), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.055, right=0.775, top=0.84, bottom=0.23)
    low, high = _limits(document.tensors)
    _draw_points(axes, document, order, low=low, high=high)
    _draw_axes(axes, order, slots=slots, low=low, high=high)
    _draw_origin(axes, document, order, low=low, high=high)
    figure.text(0.055, 0.955, _title(document), fontsize=12, fontweight="bold", va="center")
    figure.text(0.055, 0.908, _subtitle(document), fontsize=9.5, va="center", color=_TEXT if document.origin else "#333333")
    _name_first(axes, document, order, low=low, high=high)
    path = directory / FILE_NAME
    figure.savefig(path)
    return path


def in_order(tensors: set[str], layers: Sequence[str], *, slots: Sequence[str]) -> list[tuple[int, str]]:
    """Return (section, tensor) from left to right: forward, gradients backward, the optimizer's slots, parameters."""
    position = {layer: index for index, layer in enumerate(layers)}

    def key(tensor: str) -> tuple[int, float, str]:
        group, _, name = tensor.partition("/")
        index = position.get(name.rpartition(".")[0], len(layers))
        if group == "parameter_gradient":
            return 1, -index, name
        if group in (*slots, "params"):
            return 3 if group == "params" else 2, index, name
        return 0, index if name else math.inf, tensor

    return [(key(tensor)[0], tensor) for tensor in sorted(tensors, key=key)]


def plain(tensor: str) -> str:
    """Return a tensor's name without the number of the call or step, which those of several calls begin with."""
    number, _, rest = tensor.removeprefix("again/").partition("/")
    return rest if number.isdigit() else tensor


def _limits(tensors: Sequence[TensorDifference]) -> tuple[float, float]:
    ratios = [each.ratio for each in tensors]
    finite = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    # Room above for the origin's label and for what is infinitely far.
    low, most = max(min([*finite, 0.5]) / 2, 1e-3), max([*finite, 10.0])
    return low, most * (most / low) ** 0.28


def _draw_points(axes: Any, document: Verification, order: list[tuple[int, str]], *, low: float, high: float) -> None:
    position = {tensor: index for index, (_, tensor) in enumerate(order)}
    finite = [each for each in document.tensors if math.isfinite(each.ratio)]
    for is_out, style in ((False, {"s": 13, "color": _WITHIN, "alpha": 0.75, "zorder": 3}), (True, _OUT_STYLE)):
        chosen = [each for each in finite if each.is_out is is_out]
        if not chosen:
            continue
        x = [position[plain(each.tensor)] for each in chosen]
        label = "out of its limit" if is_out else "within its limit"
        axes.scatter(x, [max(each.ratio, low) for each in chosen], clip_on=False, label=f"{label}: {len(chosen):,}", **style)
    infinite = [position[plain(each.tensor)] for each in document.tensors if math.isinf(each.ratio)]
    if infinite:
        axes.scatter(infinite, [high] * len(infinite), clip_on=False, label=f"infinitely far: {len(infinite):,}", **_INFINITE)


def _name_first(axes: Any, document: Verification, order: list[tuple[int, str]], *, low: float, high: float) -> None:
    """Number the first tensors that are out, as a step makes them, and name them beside the picture."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8, frameon=False)
    out = [each for each in document.tensors if each.is_out]
    worst: dict[str, TensorDifference] = {}
    for each in out:
        name = plain(each.tensor)
        if name not in worst or not each.ratio <= worst[name].ratio:
            worst[name] = each
    names = [tensor for _, tensor in order if tensor in worst]
    lines = []
    for number, name in enumerate(names[:_NAMED], start=1):
        found = worst[name]
        at = (_position(order, name), min(max(found.ratio, low), high) if not math.isnan(found.ratio) else low)
        axes.annotate(str(number), xy=at, xytext=(6, 5), textcoords="offset points", fontsize=8, fontweight="bold", color=_TEXT)
        lines.append(f"{number}  {_cut(name)}\n    {times(found.ratio)} its floor, {_cut(found.case)}")
    if lines:
        more = len(names) - len(lines)
        text = "first that are out:\n" + "\n".join(lines) + (f"\nand {more:,} more" if more else "")
        axes.text(1.012, 0.80, text, transform=axes.transAxes, fontsize=7.5, va="top", linespacing=1.35)


def _position(order: list[tuple[int, str]], name: str) -> int:
    """Return where a tensor stands from left to right."""
    return [tensor for _, tensor in order].index(name)


def _cut(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:20]}...{name[-23:]}"


def _draw_axes(axes: Any, order: list[tuple[int, str]], *, slots: Sequence[str], low: float, high: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_xlim(-1, len(order))
    axes.set_ylabel("distance to the oracle / noise floor")
    axes.axhline(1.0, color="#555555", linewidth=0.8, linestyle="--", zorder=1)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6, zorder=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    sections = [section for section, _ in order]
    for section, title in enumerate(_SECTIONS):
        if section in sections:
            first, last = sections.index(section), len(sections) - 1 - sections[::-1].index(section)
            if last - first >= 3:  # else no room for the title
                title = title.format(slots=", ".join(slots).replace("_", " "))
                axes.text((first + last) / 2, 1.025, title, transform=axes.get_xaxis_transform(), ha="center", fontsize=9)
            if first:
                axes.axvline(first - 0.5, color="#999999", linewidth=0.8, zorder=1)
    # One label for each run of a layer's tensors, and not more than there is room for.
    layers = [(section, layer_of(tensor)) for section, tensor in order]
    starts = [index for index, layer in enumerate(layers) if index == 0 or layers[index - 1] != layer]
    starts = starts[:: max(1, math.ceil(len(starts) / _MOST_LABELS))]
    axes.set_xticks(starts, [layers[index][1] for index in starts], rotation=90, fontsize=6.5)


def layer_of(tensor: str) -> str:
    """Return the layer that a tensor belongs to; `loss` and `logits` stand for themselves."""
    name = tensor.partition("/")[2]
    return name.rpartition(".")[0] if name else tensor


def origin_place(document: Verification, order: list[tuple[int, str]]) -> tuple[int, TensorDifference] | None:
    """Return the tensor that is the origin, or that stands for it, with its place; None where there is none.

    A gradient inside of a model is among no tensors of a step: the worst of its layer's that the same phase makes stands for it.
    """
    origin = document.origin
    if origin is None:
        return None
    places = {tensor: (index, section) for index, (section, tensor) in enumerate(order)}
    found = [each for each in document.tensors if plain(each.tensor) == plain(origin.tensor)]
    if not found:
        section = _SECTION_OF.get(origin.phase)
        of_layer = [each for each in document.tensors if layer_of(plain(each.tensor)) == origin.layer]
        found = [each for each in of_layer if section is None or places[plain(each.tensor)][1] == section] or of_layer
    if not found:
        return None
    point = max(found, key=lambda each: (each.is_out, each.ratio))
    return places[plain(point.tensor)][0], point


def _draw_origin(axes: Any, document: Verification, order: list[tuple[int, str]], *, low: float, high: float) -> None:
    found, origin = origin_place(document, order), document.origin
    if found is None or origin is None:
        return
    x, point = found
    y = min(max(point.ratio, low), high)
    is_left = x < len(order) / 2
    axes.annotate(
        f"origin: {origin.layer}, {origin.phase}, {origin.quantity}",
        xy=(x, y),
        xytext=(x + (2 if is_left else -2), high * (low / high) ** 0.1),
        ha="left" if is_left else "right",
        va="center",
        fontsize=9.5,
        color=_TEXT,
        fontweight="bold",
        arrowprops={"arrowstyle": "->", "color": _TEXT, "shrinkB": 6},
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        zorder=6,
    )


def _title(document: Verification) -> str:
    recipe, name = document.recipe, document.verdict.name
    version = document.framework_version
    fault = f", planted fault {document.fault.name}" if document.fault else ""
    shown = name if name is Verdict.REPRODUCED else name.upper()
    framework = f"({document.context.framework} {version})" if version else ""
    what = f"{recipe.name} v{recipe.version}, {recipe.profile}"
    return f"{what}: {document.context.text} {framework}{fault}: {shown}"


def _subtitle(document: Verification) -> str:
    text = f"origin: {document.origin.text}" if document.origin else document.verdict.reason
    return text if len(text) <= 170 else f"{text[:167]}..."
