"""The picture of two views: three rows of the run's own images, or no picture where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import imread

from reports.views_picture import draw_views
from vigil.errors import DataError


def test_every_image_stands_above_its_two_views(tmp_path):
    """Each of three rows has the colour of what it shows; exchanged rows would not."""
    colours = {"images": (255, 0, 0), "query_views": (0, 255, 0), "key_views": (0, 0, 255)}
    np.savez(tmp_path / "inputs.npz", **{name: np.full((4, 6, 6, 3), colour, np.uint8) for name, colour in colours.items()})
    picture = imread(draw_views(tmp_path))[..., :3]
    rows = [np.flatnonzero((picture == np.array(colour) / 255).all(axis=-1).any(axis=1)) for colour in colours.values()]
    assert all(len(found) > 40 for found in rows)
    assert rows[0].max() < rows[1].min() < rows[1].max() < rows[2].min()
    # Four panels in each row.
    panels = (picture == (1.0, 0.0, 0.0)).all(axis=-1)[rows[0][len(rows[0]) // 2]]
    assert np.count_nonzero(np.diff(panels.astype(int)) == 1) == 4


def test_a_run_without_views_has_no_picture(tmp_path):
    """A run that trained on images as they are leaves none, and a damaged file is an error."""
    assert draw_views(tmp_path) is None
    assert not list(tmp_path.iterdir())
    (tmp_path / "inputs.npz").write_bytes(b"not an archive")
    with pytest.raises(DataError, match=r"inputs\.npz: not a whole \.npz file"):
        draw_views(tmp_path)
