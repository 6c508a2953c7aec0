"""The picture of a detector's work, masks.png: for each test image itself, its ground truth, and what was found in it.

Colour is the class, and its name stands at each instance, so that no one need tell colours apart. Matplotlib is imported where it
draws, for the import alone takes most of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from runners.contract.data.instances import Instances
from runners.contract.kinds.detections import FILE_NAME as DETECTIONS
from runners.contract.kinds.detections import Detections
from vigil.data.coco.paste import paste_mask
from vigil.data.coco.recorded_detections import RecordedDetections, read_recorded

FILE_NAME, MOST_IMAGES = "masks.png", 12
LEAST_SCORE = 0.5
COLUMNS = ("image", "ground truth", "detections")
# Okabe and Ito 2008, Color Universal Design; black and gray are left for what is no class.
_COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
_LINES: tuple[Literal["solid", "dashed", "dotted"], ...] = ("solid", "dashed", "dotted")
_CROWD = "#888888"
_LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue
_PANEL = 3.1  # inches
_HEAD, _FOOT = 0.85, 0.55

# What is drawn of an instance: its place among the classes (None for a crowd), its mask, and what is written at it.
Drawn = tuple["int | None", np.ndarray, str]


def draw_found(directory: Path) -> Path | None:
    """Draw detections.npz of a run's directory as masks.png beside it; return its path, or None where there are no detections.

    Of the test images the first twelve are drawn.

    Raises:
        DataError, ValueError: Detections, spec or data are damaged, missing, or of other images.
    """
    if not (directory / DETECTIONS).is_file():
        return None
    return draw_recorded(read_recorded(directory / DETECTIONS), path=directory / FILE_NAME, count=MOST_IMAGES)


def draw_recorded(recorded: RecordedDetections, *, path: Path, count: int) -> Path:
    """Draw the first images that recorded detections are of, and return the path of the picture."""
    title = f"{recorded.title}: ground truth and detections"
    truth = recorded.truth.first(count)
    return draw_masks(truth, recorded.detections, class_names=recorded.class_names, title=title, path=path)


def draw_masks(truth: Instances, detections: Detections, *, class_names: Sequence[str], title: str, path: Path) -> Path:
    """Draw every image of a split, as `make_figure` does, and return the path of the picture."""
    make_figure(truth, detections, class_names=class_names, title=title).savefig(path)
    return path


def make_figure(truth: Instances, detections: Detections, *, class_names: Sequence[str], title: str) -> Any:
    """Return the figure: a row an image, with three panels.

    Detections of a score below 0.5 are counted below their panel and not drawn.

    Raises:
        ValueError: An image of the split has no detections, not even empty rows.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {image_id: row for row, image_id in enumerate(detections.image_ids.tolist())}
    if missing := [image_id for image_id in truth.image_ids.tolist() if image_id not in rows]:
        raise ValueError(f"images {missing[:5]}: are not among the detections. Evaluate every test image")
    count = len(truth.images)
    height = count * _PANEL + _HEAD + _FOOT
    figure = Figure(figsize=(3 * _PANEL, height), dpi=100)
    FigureCanvasAgg(figure)
    panels = figure.subplots(count, 3, squeeze=False)
    figure.subplots_adjust(0.02, _FOOT / height, 0.98, 1 - _HEAD / height, wspace=0.04, hspace=0.12)
    shown: set[int] = set()
    for index, image_id in enumerate(truth.image_ids.tolist()):
        there = _ground_truth(truth, index, class_names)
        found = _detections(detections, rows[image_id], class_names, side=truth.side)
        below = int((detections.classes[rows[image_id]] >= 0).sum()) - len(found)
        notes = (f"image {image_id}", _many(there, "instance"), f"{_many(found, 'detection')}, {below} below {LEAST_SCORE}")
        # Behind colours that mean a class the image is gray.
        gray = np.repeat((truth.images[index] @ np.array(_LUMINANCE))[..., None], 3, axis=-1).astype(np.uint8)
        for panel, instances, note in zip(panels[index], ([], there, found), notes, strict=True):
            _draw_panel(panel, truth.images[index] if panel is panels[index][0] else gray, instances, note)
        shown |= {kind for kind, _, _ in there + found if kind is not None}
    for panel, column in zip(panels[0], COLUMNS, strict=True):
        panel.set_title(column, fontsize=10, pad=6)
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=12, fontweight="bold", va="center")
    _draw_legend(figure, sorted(shown), class_names)
    return figure


def _ground_truth(truth: Instances, index: int, class_names: Sequence[str]) -> list[Drawn]:
    masks = truth.masks(index)
    drawn: list[Drawn] = []
    for row in np.flatnonzero(truth.classes[index] >= 0):
        kind, is_crowd = int(truth.classes[index, row]), truth.crowd[index, row]
        drawn.append((None if is_crowd else kind, masks[row], f"crowd: {class_names[kind]}" if is_crowd else class_names[kind]))
    return drawn


def _detections(detections: Detections, row: int, class_names: Sequence[str], *, side: int) -> list[Drawn]:
    """Return what is drawn of an image's detections, the most certain last, so that it lies on the others."""
    chosen = np.flatnonzero((detections.classes[row] >= 0) & (detections.scores[row] >= LEAST_SCORE))
    drawn: list[Drawn] = []
    for place in chosen[np.argsort(detections.scores[row][chosen], kind="stable")]:
        kind, score = int(detections.classes[row, place]), detections.scores[row, place]
        mask = paste_mask(detections.masks[row, place], detections.boxes[row, place], height=side, width=side)
        drawn.append((kind, mask, f"{class_names[kind]} {score:.2f}"))
    return drawn


def _draw_panel(panel: Any, image: np.ndarray, instances: Iterable[Drawn], note: str) -> None:
    panel.imshow(image, interpolation="nearest")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_xlabel(note, fontsize=8, labelpad=3)
    taken: list[tuple[float, float, float]] = []
    for kind, mask, text in instances:
        colour = _colour(kind)
        fill = np.zeros((*mask.shape, 4))
        fill[mask] = (*_channels(colour), 0.4)
        panel.imshow(fill, interpolation="nearest")
        if mask.any():
            # A rim of zeros closes the outline of a mask that the image cuts off.
            edges = np.arange(-1, len(mask) + 1)
            style = "dashed" if kind is None else _LINES[kind // len(_COLOURS) % len(_LINES)]
            panel.contour(edges, edges, np.pad(mask, 1), levels=[0.5], colors=[colour], linewidths=1.6, linestyles=style)
            row, column = _label_place(mask, text, taken)
            dark = _channels(colour) @ np.array(_LUMINANCE) < 0.5
            box = {"facecolor": colour, "edgecolor": "none", "pad": 1.2, "alpha": 0.9}
            text_colour = "white" if dark else "black"
            panel.text(column, row, text, fontsize=7, ha="center", va="center", color=text_colour, bbox=box)
    panel.set_xlim(-0.5, len(image) - 0.5)
    panel.set_ylim(len(image) - 0.5, -0.5)


def _label_place(mask: np.ndarray, text: str, taken: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return row and column of a label, and add it to those that are taken: at the top of its mask, or below the label there.

    Not in the middle, which in a ring may be another instance's.
    """
    side = len(mask)
    tall, half = 0.055 * side, (0.01 * len(text) + 0.01) * side
    top = int(mask.any(axis=1).argmax())
    column = float(np.clip(np.flatnonzero(mask[top]).mean(), half, side - half))
    row = max(float(top), tall / 2)
    while any(abs(row - other) < tall and abs(column - at) < half + reach for other, at, reach in taken) and row < side - tall:
        row += tall / 4
    taken.append((row, column, half))
    return row, column


def _draw_legend(figure: Any, kinds: Sequence[int], class_names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_colour(kind), linewidth=4, linestyle=_LINES[kind // len(_COLOURS) % len(_LINES)]) for kind in kinds
    ]
    names = [class_names[kind] for kind in kinds]
    figure.legend(handles, names, loc="lower center", ncols=max(1, min(8, len(kinds))), fontsize=9, frameon=False)


def _colour(kind: int | None) -> str:
    return _CROWD if kind is None else _COLOURS[kind % len(_COLOURS)]


def _channels(colour: str) -> np.ndarray:
    return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255


def _many(drawn: Sequence[Drawn], what: str) -> str:
    return f"{len(drawn)} {what}{'' if len(drawn) == 1 else 's'}"
