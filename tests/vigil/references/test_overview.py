"""What `vigil reference show` says of the references: what judges, what does not and why, and the band that really judges."""

from __future__ import annotations

import pytest

from tests.vigil.json_answer import answer_of
from tests.vigil.reference_rows import CHECKSUM, QUICK, REASON, RECIPE, band, make_entry, make_row, make_rows, write_lines
from vigil.cli.answers import ShowAnswer
from vigil.cli.main import main
from vigil.documents.context import FRAMEWORKS, make_context
from vigil.documents.judgement import JudgingBand, Metric
from vigil.documents.superseding import SupersedingEntry
from vigil.errors import DataError
from vigil.recipes.loading import identity_of
from vigil.references.judge import judge
from vigil.references.overview import distinct, overview, recipes_with_rows
from vigil.references.samples import RecipeSamples, append_rows, load_rows, load_samples, superseded_by


def look(rows, *entries, recipe=RECIPE):
    """Return the overview of rows and entries."""
    placed = [("here", SupersedingEntry.checked(entry, where="here")) for entry in entries]
    return overview(RecipeSamples(tuple(rows), superseded_by(placed, rows)), recipe=recipe)


@pytest.mark.parametrize("count", [1, 3])
def test_the_band_that_is_shown_is_the_band_that_judges(count):
    """Band and smallest drop are those in the verdict on real runs of other seeds."""
    rows = make_rows(9)
    runs = [(seed, 85.0 + seed) for seed in range(count)]
    training = RECIPE.resolve("quick")
    facts = {"recipe": identity_of(RECIPE, "quick"), "metric": Metric.of(training), "checksum": CHECKSUM}
    [group] = look(rows)
    assert set(group.bands) == set(FRAMEWORKS)
    for framework, shown in group.bands.items():
        context = make_context(framework=framework)
        verdict = judge(runs, rows=rows, n_test=training["data"]["n_test"], context=context, **facts)
        assert (shown.band, shown.catches[count]) == (verdict.band, verdict.detectable_drop)


def test_no_reference_row_is_left_out_of_the_band_that_is_shown():
    """The runs that are asked about have seeds of their own, whatever seeds the rows have."""
    rows = make_rows(6, first=0) + make_rows(6, first=2**31)
    assert band(rows).n == len(rows)


def test_a_group_says_all_that_its_rows_have_in_common():
    """Rows, seeds, releases, days, hardware, mean and spread."""
    rows = [*make_rows(6), make_row(framework="torch", seed=1000, framework_version="2.12.0", date="2026-11-01")]
    [group] = look(rows)
    assert (group.state, group.rows, group.seeds) == ("in use", 13, tuple(range(1000, 1006)))
    assert group.frameworks == {"jax": ("0.10.2",), "torch": ("2.12.0", "2.13.0+cpu")}
    assert (group.dates, group.hardware) == (("2026-11-01", "2026-11-21"), ("2 cores",))
    assert group.mean == pytest.approx(sum(row.value for row in rows) / 13)
    assert [(lot.context, lot.release, lot.rows, lot.spread) for lot in group.contexts][1:2] == [
        ("torch-jit-fp32-x1", "2.12.0", 1, None)
    ]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"version": 7}, f"not used: the recipe has changed, it is version {QUICK.version} ({QUICK.hash}) now"),
        ({"hash": "0" * 12}, f"not used: the recipe has changed, it is version {QUICK.version} ({QUICK.hash}) now"),
        ({"profile": "huge"}, "not used: the recipe has no profile huge"),
    ],
)
def test_rows_of_another_recipe_are_not_called_in_use(change, state):
    """A changed version, hash or profile is told, and no band is shown."""
    [group] = look(make_rows(recipe=QUICK.replace(**change)))
    assert (group.state, group.in_use, group.bands["jax"].band) == (state, False, None)
    assert group.mean is not None


def test_a_recipe_whose_file_is_unknown_has_nothing_in_use():
    """Without the recipe nobody can say which hash is the right one."""
    [group] = look(make_rows(), recipe=None)
    assert group.state.startswith("not used: there is no recipe of this name in recipes/")


@pytest.mark.parametrize(("n_seeds", "said"), [(3, "found 6 usable reference samples of 3 seeds"), (1, "found 2 usable")])
def test_too_few_rows_are_not_called_in_use(n_seeds, said):
    """Under 8 samples of 5 seeds verdicts are unknown, and the table says why."""
    [group] = look(make_rows(n_seeds))
    assert said in group.state
    assert (group.in_use, group.bands["jax"].catches) == (False, {1: None, 3: None})


def test_samples_of_other_data_are_a_group_of_their_own():
    """One recipe with two checksums is two groups, and no band mixes them."""
    other = make_rows(6, mean=70.0, framework_version="0.9", data={"name": "generated", "checksum": "beef" * 8})
    groups = look(make_rows(6) + other)
    assert sorted(round(group.mean) for group in groups) == [70, 88]
    assert all(group.bands["jax"].band.n == 12 for group in groups)


def test_superseded_dirty_and_unverified_rows_are_told():
    """Superseded rows leave count and band and are listed with the reason; rows of changed code are listed by run."""
    rows = make_rows(8)
    rows[0], rows[1] = rows[0].replace(dirty=True), rows[1].replace(dirty=None)
    rows[2] = rows[2].replace(verify={"verdict": "reproduced", "reason": "all", "verify_id": "v", "golden": None})
    old = [row for row in rows if row.framework == "torch"][:3]
    [group] = look(rows, make_entry(old, by="#7"))
    assert (group.rows, group.bands["jax"].band.n, group.verified) == (13, 13, 1)
    assert group.dirty == (rows[0].run_id, rows[1].run_id)
    [entry] = group.superseded
    assert (entry.reason, entry.by, entry.rows, entry.contexts[0].release) == (REASON, "#7", 3, "2.13.0+cpu")


def test_a_band_that_judges_all_frameworks_is_shown_once():
    """Equal bands share a line without names; where one framework's differs, each line says whose it is."""
    wide, same = (JudgingBand(band=band(make_rows(8)), reason=None, catches={1: 2.0, 3: 1.0}) for _ in range(2))
    narrow = wide.replace(band=wide.band.replace(low=85.0))
    assert distinct({"torch": wide, "jax": same}) == [("", wide)]
    assert distinct({"torch": wide, "tensorflow": narrow, "jax": same}) == [("torch, jax", wide), ("tensorflow", narrow)]


def test_a_group_without_a_standing_row_is_still_shown():
    """Where all is superseded the table has the group, with the reason, and says that it judges nothing."""
    rows = make_rows(6)
    [group] = look(rows, make_entry(rows))
    assert (group.state, group.rows, group.mean) == ("not used: all samples are superseded", 0, None)


def test_a_run_that_is_listed_twice_counts_once():
    """As it does in a verdict."""
    rows = make_rows(6)
    [group] = look(rows + rows[:4])
    assert (group.rows, group.bands["jax"].band.n) == (12, 12)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of references that the command shows: one recipe with a superseded release, one whose file is elsewhere."""
    monkeypatch.setattr("vigil.cli.reference.reference_directory", lambda source=None: tmp_path)
    append_rows(tmp_path, [*make_rows(8), *make_rows(recipe=QUICK.replace(name="mine"))])
    old = make_rows(5, frameworks=["torch"], framework_version="2.12.0")
    append_rows(tmp_path, old)
    write_lines(tmp_path / "resnet_cifar" / "superseded.jsonl", [make_entry(old)])
    return tmp_path


def test_the_table_has_every_group_and_its_notes(folder, capsys):
    """Bands, drops, states and reasons are on the page; a recipe of somebody's own is not passed over."""
    assert main(["reference", "show"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    judges = band(load_rows(folder, "resnet_cifar"))
    assert f"{judges.low:.2f} to {judges.high:.2f}" in out
    assert "in use" in out
    assert f"mine quick v1 ({QUICK.hash}): not used: there is no recipe of this name in recipes/; give the path" in out
    assert f"superseded 2026-11-22: 5 of torch-jit-fp32-x1 2.12.0 (mean 88.45): {REASON}" in out


def test_json_holds_what_the_table_holds(folder, capsys):
    """The same groups, whole numbers and no text to parse."""
    [group] = answer_of(capsys, ShowAnswer, "reference", "show", "resnet_cifar", "--profile", "quick").groups
    assert (group.rows, group.in_use, group.superseded[0].rows) == (16, True, 5)
    catches = group.bands["jax"].catches
    assert catches[1] > catches[3] > 0.0


def test_one_recipe_is_shown_by_context(folder, capsys):
    """With a name, each context and release has a row with its seeds; a name with samples and no file will do."""
    assert main(["reference", "show", "resnet_cifar"]) == 0
    out = capsys.readouterr().out
    assert "by context and release" in out
    assert "1000 to 1007" in out
    assert main(["reference", "show", "mine"]) == 0
    assert "resnet_cifar" not in capsys.readouterr().out


def test_nothing_there_is_said(tmp_path, monkeypatch, capsys):
    """An empty folder is no empty table."""
    monkeypatch.setattr("vigil.cli.reference.reference_directory", lambda source=None: tmp_path)
    assert main(["reference", "show"]) == 0
    assert "no samples; to make some: vigil reference add" in capsys.readouterr().out


def test_a_recipe_whose_files_are_all_lost_is_still_known(tmp_path):
    """Its list says that there should be some; nobody takes it for one that never had any."""
    path = write_lines(tmp_path / "resnet_cifar" / "quick-jax-2026-11-21.jsonl", make_rows())
    path.unlink()
    assert recipes_with_rows(tmp_path) == ["resnet_cifar"]
    with pytest.raises(DataError, match=r"quick-jax-2026-11-21\.jsonl: missing"):
        load_samples(tmp_path, "resnet_cifar")
