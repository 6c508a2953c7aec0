"""`vigil data import` of a text: characters by number, under a checksum; whatever is wrong is one line with its place."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import texts, tiny_shakespeare
from runners.contract.errors import UnusableData
from runners.contract.kinds.table import kind_of
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import DataImportAnswer
from vigil.cli.main import main
from vigil.data.official import ensure_data
from vigil.data.own_text import make_text
from vigil.errors import DataError, RecipeError
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe

TEXT = "Größe ist, was man nicht misst.\r\n" * 40


@pytest.fixture
def text(tmp_path):
    """Return the path of a text of characters beyond ASCII, with a byte order mark and two bytes at the end of a line."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode("utf-8-sig"))
    return path


@pytest.fixture
def data_directory(tmp_path, monkeypatch):
    """Return an empty data directory."""
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def joined(whole):
    """Return the two parts of a set as text."""
    return ["".join(map(chr, whole.characters[part])) for part in (whole.train, whole.test)]


def test_the_last_tenth_of_a_text_is_tested_on(text):
    """No character is lost or changed; the mark at the beginning is no part of the text."""
    whole, cut = make_text(text, None), len(TEXT) * 9 // 10
    assert joined(whole) == [TEXT[:cut], TEXT[cut:]]
    assert list(whole.characters) == sorted(map(ord, set(TEXT)))


def test_a_second_text_is_tested_on(text, tmp_path):
    """All of the first is trained on then."""
    (tmp_path / "other.txt").write_text("was ist misst", encoding="utf-8")
    assert joined(make_text(text, tmp_path / "other.txt")) == [TEXT, "was ist misst"]


def test_tiny_shakespeare_would_be_imported_as_it_is(tmp_path):
    """The text in the repository has the tokens that an import of its file has."""
    own = tiny_shakespeare.load()
    whole = "".join(joined(own))
    (tmp_path / "input.txt").write_text(whole, encoding="utf-8", newline="")
    imported = make_text(tmp_path / "input.txt", None)
    np.testing.assert_array_equal(imported.train, own.train)
    np.testing.assert_array_equal(imported.test, own.test)


@pytest.mark.parametrize(
    ("content", "test", "message"),
    [
        (b"one \xff", None, "text.txt: byte 4 is not UTF-8 (invalid start byte). Save it as UTF-8."),
        (b"", None, "text.txt: number of characters: found 0. Needed are two or more."),
        (b"abc", None, "text.txt, its last tenth: number of characters: found 1. Needed are two or more."),
        (b"ab\n" * 20 + b"xb", None, "text.txt, its last tenth: line 21: the character 'x' is nowhere in the text"),
        (b"aaaa" * 9, None, "text.txt: one kind of character, 'a'. Needed are two or more."),
        (b"abc\n", b"ab\nac\nxa", "test.txt: line 3: the character 'x' is nowhere in the text that is trained on."),
        (b"abc", b"", "test.txt: number of characters: found 0. Needed are two or more."),
        (None, None, "text.txt: cannot be read (No such file or directory)."),
    ],
)
def test_bad_input_is_one_line_with_its_place(tmp_path, data_directory, capsys, content, test, message):
    """Each names the file, and where in it something is wrong; nothing is written."""
    arguments = ["data", "import", "mine", "--train", str(tmp_path / "text.txt")]
    for name, data in (("text.txt", content), ("test.txt", test)):
        if data is not None:
            (tmp_path / name).write_bytes(data)
    assert main([*arguments, *([] if test is None else ["--test", str(tmp_path / "test.txt")])]) != 0
    assert message in capsys.readouterr().err
    assert not data_directory.exists()


def test_the_import_says_how_a_recipe_asks_for_it(text, data_directory, capsys):
    """What it prints fits: with the recipe's block, so many places and stretches there are."""
    text.write_text(TEXT * 10, encoding="utf-8")
    assert main(["data", "import", "mine", "--train", str(text)]) == 0
    found, whole = capsys.readouterr().out, make_text(text, None)
    assert f"model: {{vocabulary: {len(set(TEXT))}}}" in found
    assert f'checksum: "{whole.checksum}", n_train: {len(whole.train) - 64}, n_test: {(len(whole.test) - 1) // 64}' in found
    assert texts.read(data_directory / "mine.npz").checksum == whole.checksum
    answer = answer_of(capsys, DataImportAnswer, "data", "import", "mine", "--train", str(text))
    assert answer.made.model == {"vocabulary": len(set(TEXT)), "block": 64}
    assert answer.made.data["n_train"] == len(whole.train) - 64


def test_options_of_images_are_refused(text, capsys):
    """A text has no labels, and images have no last tenth."""
    assert main(["data", "import", "mine", "--train", str(text), "--train-labels", "labels"]) == 2
    assert "--train-labels: a text has no labels" in capsys.readouterr().err
    assert main(["data", "import", "mine", "--train", "images.npz"]) == 2
    assert "--test: needed for images" in capsys.readouterr().err


@pytest.fixture
def own_recipe(text, tmp_path, data_directory):
    """Return what makes the profile `smoke` of a recipe of an imported text, with other changes to it."""
    text.write_text(TEXT * 10, encoding="utf-8")
    main(["data", "import", "mine", "--train", str(text)])
    whole = texts.read(data_directory / "mine.npz")
    recipe = (project_root() / "recipes" / "char_gpt.yaml").read_text(encoding="utf-8")
    smoke = recipe[: recipe.index("  quick:")].replace("profile: quick", "profile: smoke")
    data = f'{{name: mine, checksum: "{whole.checksum}", n_train: {len(whole.train) - 64}, n_test: 15}}'
    smoke = smoke.replace("{name: tiny_shakespeare, n_train: 1003790, n_test: 120}", data)
    smoke = smoke.replace("evaluation_batch_size: 60", "evaluation_batch_size: 5")
    smoke = smoke.replace("vocabulary: 65", f"vocabulary: {len(whole.characters)}")

    def load(old="name", new="name"):
        assert old in smoke
        (tmp_path / "mine.yaml").write_text(smoke.replace(old, new), encoding="utf-8")
        return load_recipe(str(tmp_path / "mine.yaml"))

    return load


def test_a_recipe_trains_on_it(own_recipe):
    """Its batches are stretches of the imported text."""
    training = own_recipe().resolve("smoke")
    directory = ensure_data(training, progress=lambda *facts: None)
    kind = kind_of(training)
    whole = kind.load(training["data"], str(directory))
    tokens, _ = kind.make_batches(whole, training, seed=0).train(0)
    assert all("".join(map(chr, whole.characters[row])) in TEXT * 10 for row in tokens)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vocabulary: ", "vocabulary: 1", "kinds of characters, the recipe's model.vocabulary is 1"),
        ("n_test: 15", "n_test: 25", "the recipe's data.n_test is 25; with a model.block of 64 the text has 20."),
        ("n_train: ", "n_train: 9", "Ask for as many at most."),
        ("name: mine,", "name: others,", "others.npz: cannot be read (No such file or directory)"),
        ('checksum: "', 'checksum: "0', "checksum"),
        ("name: mine, checksum", "name: tiny_shakespeare, checksum", 'found name "tiny_shakespeare" with a checksum'),
    ],
)
def test_a_recipe_that_does_not_fit_is_refused(own_recipe, old, new, message):
    """Before anything is trained: other characters, too many examples, another name or checksum."""
    with pytest.raises((DataError, RecipeError)) as error:
        ensure_data(own_recipe(old, new).resolve("smoke"), progress=lambda *facts: None)
    assert message in str(error.value)


def test_another_file_is_not_taken_for_it(text, tmp_path):
    """Other bytes, and data of another kind, are each told."""
    whole = make_text(text, None)
    texts.write(tmp_path / "mine.npz", whole)
    with pytest.raises(UnusableData, match=f"expected checksum {'0' * 32}, found {whole.checksum}"):
        texts.read(tmp_path / "mine.npz", expected="0" * 32)
    np.savez(tmp_path / "images.npz", kind="labelled images", schema=1)
    with pytest.raises(UnusableData, match="holds labelled images, schema 1; read are text, 1"):
        texts.read(tmp_path / "images.npz")
