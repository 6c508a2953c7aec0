"""The picture of what a contrastive run trained on, views.png: images of its first batch, and the two views made of each."""

from __future__ import annotations

from pathlib import Path

from runners.contract.arrays import read_arrays
from vigil.errors import DataError

FILE_NAME, INPUTS = "views.png", "inputs.npz"
_ROWS = (("images", "image"), ("query_views", "query's view"), ("key_views", "key's view"))


def draw_views(directory: Path) -> Path | None:
    """Draw inputs.npz of a run's directory as views.png beside it; return its path, or None where there are no views."""
    if not (directory / INPUTS).is_file():
        return None
    # Imported where it draws, for the import alone takes most of a second.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    try:
        stored = read_arrays(directory / INPUTS)
    except ValueError as error:
        raise DataError(f"{directory / INPUTS}: {error}.") from error
    rows = [(title, stored[name]) for name, title in _ROWS]
    count = len(rows[0][1])
    figure = Figure(figsize=(1.0 + 1.05 * count, 3.5), dpi=100)
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), count, squeeze=False, gridspec_kw={"wspace": 0.06, "hspace": 0.06})
    figure.subplots_adjust(left=0.11, right=0.99, top=0.9, bottom=0.02)
    figure.suptitle(f"The first {count} images of step 0, and the two views that were trained on", fontsize=10)
    for (title, images), line in zip(rows, grid, strict=True):
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=9)
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image, interpolation="nearest")
            axes.set(xticks=[], yticks=[])
    path = directory / FILE_NAME
    figure.savefig(path)
    return path
