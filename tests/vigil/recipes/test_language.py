"""A language model's recipe: the characters there are, heads that divide, as many places as the text has."""

from __future__ import annotations

import pytest

from vigil.errors import RecipeError
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vocabulary: 65", "vocabulary: 64", "model.vocabulary: found 64. Allowed: 65, the characters of tiny_shakespeare."),
        ("heads: 4", "heads: 3", "model.heads: found 3. Allowed: a divisor of width, 128."),
        ("n_train: 1003790", "n_train: 1003791", "profiles.smoke.data.n_train: found 1003791. Allowed: at most 1003790."),
        ("n_test: 1740", "n_test: 1800", "profiles.quick.data.n_test: found 1800. Allowed: at most 1742."),
        ("name: tiny_shakespeare", "name: plays", 'data: found name "plays" without a checksum. Allowed: tiny_shakespeare'),
        ("dropout: 0.1", "dropout: 1.0", "profiles.dropout.dropout: found 1.0"),
        ("bias: false", "bias: true", "model.bias: found true. Allowed: false."),
        ("name: adamw", "name: sgd", 'optimizer.name: found "sgd" (text). Allowed: adamw.'),
        ("steps: 2000}", "steps: 100}", "learning_rate.warm_up_steps: found 100. Allowed: fewer than steps, 100."),
    ],
)
def test_a_mistake_is_pointed_at(tmp_path, old, new, message):
    """Each is refused with the key, what was found and what is allowed."""
    text = (project_root() / "recipes" / "char_gpt.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "mine.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RecipeError) as error:
        load_recipe(str(tmp_path / "mine.yaml"))
    assert message in str(error.value)


def test_profiles_differ_in_dropout_alone():
    """What is dropped is a profile's, and stands in the model that runners build."""
    quick, dropout = (load_recipe("char_gpt").resolve(name) for name in ("quick", "dropout"))
    assert (quick["model"].pop("dropout"), dropout["model"].pop("dropout")) == (0.0, 0.1)
    assert quick == dropout
