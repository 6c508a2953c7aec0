"""The picture of a verification, verify.png: every tensor's distance as a multiple of its noise floor.

From left to right as a step makes them: forward, backward, then what the optimizer keeps, and parameters. A fault shows as a wall
that begins at its origin. Matplotlib is imported where it draws, for the import alone takes most of a second.
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
from vigil.documents.verification import TensorDifference, Verification

FILE_NAME = "verify.png"
RUNNER = "answers"
_SECTIONS = ("forward", "backward: gradients", "{slots}", "parameters")
_COLOURS = (
    *("#4477aa", "#66ccee", "#228833", "#ccbb44", "#aa3377", "#bbbbbb"),
    *("#332288", "#44aa99", "#999933", "#882255", "#88ccee", "#117733"),
)
_OUT = "#d62728"
_EMPHASIS = {"s": 46, "edgecolors": _OUT, "linewidths": 1.4, "zorder": 4}
_INFINITE = _EMPHASIS | {"s": 60, "marker": "^", "zorder": 5}
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
    figure.subplots_adjust(left=0.055, right=0.865, top=0.84, bottom=0.23)
    low, high = _limits(document.tensors)
    _draw_points(axes, document, order, low=low, high=high)
    _draw_axes(axes, order, slots=slots, low=low, high=high)
    _draw_origin(axes, document, order, low=low, high=high)
    figure.text(0.055, 0.955, _title(document), fontsize=12, fontweight="bold", va="center")
    figure.text(0.055, 0.908, _subtitle(document), fontsize=9.5, va="center", color=_OUT if document.origin else "#333333")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8, frameon=False, title="case", title_fontsize=8.5)
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
    names = list(dict.fromkeys(case.name for case in document.cases))
    for number, name in enumerate(names):
        points = [each for each in document.tensors if each.case == name]
        if not points:
            continue
        colour = _COLOURS[number % len(_COLOURS)]
        finite = [each for each in points if math.isfinite(each.ratio)]
        for is_out, style in ((False, {"s": 13, "alpha": 0.75, "zorder": 3}), (True, _EMPHASIS)):
            chosen = [each for each in finite if each.is_out is is_out]
            x = [position[plain(each.tensor)] for each in chosen]
            axes.scatter(x, [max(each.ratio, low) for each in chosen], color=colour, clip_on=False, **style)
        infinite = [position[plain(each.tensor)] for each in points if math.isinf(each.ratio)]
        axes.scatter(infinite, [high] * len(infinite), color=colour, clip_on=False, **_INFINITE)
        axes.scatter([], [], color=colour, s=24, label=name)
    axes.scatter([], [], color="white", label="out of its limit", **_EMPHASIS)
    if any(math.isinf(each.ratio) for each in document.tensors):
        axes.scatter([], [], color="white", label="infinitely far", **_INFINITE)


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


def _draw_origin(axes: Any, document: Verification, order: list[tuple[int, str]], *, low: float, high: float) -> None:
    origin = document.origin
    if not origin:
        return
    tensors = [each for each in document.tensors if plain(each.tensor) == plain(origin.tensor)]
    # A tap is not among the tensors of untapped programs: its layer's worst tensor stands for it.
    tensors = tensors or [each for each in document.tensors if layer_of(plain(each.tensor)) == origin.layer]
    if not tensors:
        return
    point = max(tensors, key=lambda each: each.ratio)
    x = [tensor for _, tensor in order].index(plain(point.tensor))
    y = min(max(point.ratio, low), high)
    is_left = x < len(order) / 2
    axes.annotate(
        f"origin: {origin.layer}, {origin.phase}, {origin.quantity}",
        xy=(x, y),
        xytext=(x + (2 if is_left else -2), high * (low / high) ** 0.1),
        ha="left" if is_left else "right",
        va="center",
        fontsize=9.5,
        color=_OUT,
        fontweight="bold",
        arrowprops={"arrowstyle": "->", "color": _OUT, "shrinkB": 6},
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
