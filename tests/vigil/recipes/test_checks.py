"""What must hold between the keys of a recipe."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[4, 8, 16]", "[4, 7, 16]", "9: model.widths: found [4, 7, 16]. Allowed: each stage as wide"),
        ("[4, 8, 16]", "[8, 4, 16]", "9: model.widths: found [8, 4, 16]. Allowed: each stage as wide"),
        ("[32, 32, 3]", "[28, 28, 1]", "7: model.image_shape: found [28, 28, 1]. Allowed: [32, 32, 3]"),
        ("n_classes: 10", "n_classes: 5", "8: model.n_classes: found 5. Allowed: 10 or more"),
        (
            "[[1, 1], [1, 1]]",
            "[[1, 1], [0, 1]]",
            "10: model.convolution.padding: found [[1, 1], [0, 1]]. Allowed: kernel - 1",
        ),
        ("crop: 32", "crop: 28", "22: input.augmentation.crop: found 28. Allowed: 32"),
        ("padding: 4", "padding: 33", "22: input.augmentation.padding: found 33. Allowed: at most 32"),
        ("profile: paper", "profile: papre", '41: targets.0.profile: found "papre". Allowed: a profile of this recipe'),
        ("profile: paper", "profile: papre", "Did you mean paper?"),
        ("depth: 8", "depth: 9", "45: profiles.quick.depth: found 9. Allowed: 6n + 2 layers, as in 8, 14, 20."),
        ("depth: 8", "depth: 2", "45: profiles.quick.depth: found 2."),
        ("n_train: 50000", "n_train: 50001", "57: profiles.paper.data.n_train: found 50001. Allowed: at most 50000."),
        ("n_test: 10000", "n_test: 11000", "57: profiles.paper.data.n_test: found 11000. Allowed: at most 10000."),
        (
            "batch_size: 50",
            "batch_size: 201",
            "47: profiles.quick.batch_size: found 201. Allowed: at most data.n_train",
        ),
        ("batch_size: 25", "batch_size: 30", "48: profiles.quick.evaluation_batch_size: found 30. Allowed: a divisor"),
        ("[20, 30]", "[30, 20]", "50: profiles.quick.learning_rate.boundaries: found [30, 20]. Allowed: increasing"),
        ("[20, 30]", "[20, 40]", "50: profiles.quick.learning_rate.boundaries: found [20, 40]. Allowed: increasing"),
        ("[20, 30]", "[20, 20]", "50: profiles.quick.learning_rate.boundaries: found [20, 20]. Allowed: increasing"),
        ("[0.1, 0.01, 0.001]", "[0.1, 0.01]", "50: profiles.quick.learning_rate.values: found 2 values. Allowed: 3"),
        ("evaluate_every_steps: 10", "evaluate_every_steps: 41", "52: profiles.quick.evaluate_every_steps: found 41."),
        (
            "checkpoint_every_steps: 10",
            "checkpoint_every_steps: 41",
            "53: profiles.quick.checkpoint_every_steps: found",
        ),
        ("n_train: 200", "n_train: 50001", "46: profiles.quick.data.n_train: found 50001. Allowed: at most 50000."),
        ("generated, n_train: 200, n_test: 100", "textures, n_train: 200, n_test: 10025", "found 10025. Allowed: at most 10000."),
    ],
)
def test_a_contradiction_is_pointed_at(message, old, new, expected):
    """Keys that are allowed by themselves and not together are refused, with the place and what is allowed."""
    found = message((old, new))
    assert found.startswith("tiny.yaml:")
    assert expected in found
