"""What a change does to the references: appended is shown with both bands, edited and removed are errors, each named."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from reports.diff_text import diff_lines, diff_markdown
from tests.vigil.json_answer import answer_of
from tests.vigil.reference_rows import QUICK, REASON, band, make_entry, make_row, make_rows, write_lines
from vigil.cli.answers import DiffAnswer
from vigil.cli.main import main
from vigil.documents.reference_row import ReferenceError_
from vigil.errors import CannotRun, RecipeError, UsageError
from vigil.paths import project_root
from vigil.references.diff import BandMove, band_move, diff_references
from vigil.references.revision import Kept, default_base, is_tracked, merge_base

FILE = "reference_results/resnet_cifar/quick-all-2026-11-21.jsonl"
ENTRIES = "reference_results/resnet_cifar/superseded.jsonl"
OLD = make_rows(8)
OWN = QUICK.replace(name="mine")
OWN_FILE = "reference_results/mine/quick-all-2026-11-21.jsonl"
MINE = make_rows(8, recipe=OWN)


class Checkout:
    """A git checkout that tests change."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> str:
        """Run git as nobody in particular; return what it prints."""
        who = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str = "x") -> str:
        """Commit all there is; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def rows(self, rows, path: str = FILE) -> None:
        """Replace a file of rows or entries."""
        write_lines(self.root / path, rows)

    def compare(self, base: str = "HEAD"):
        """Compare the working tree with a revision."""
        return diff_references(Kept(self.root), merge_base(self.root, base))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A checkout with one recipe, its references and one commit, which no configuration of the user's reaches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        made = Checkout(tmp_path_factory.mktemp("checkout"))
        made.git("init", "--quiet", "--initial-branch=main", "--template=")
        (made.root / "recipes").mkdir()
        shutil.copy(project_root() / "recipes" / "resnet_cifar.yaml", made.root / "recipes")
        made.rows(OLD)
        made.commit()
        yield made.root


@pytest.fixture
def checkout(template, tmp_path, monkeypatch):
    """A checkout of the test's own."""
    made = Checkout(tmp_path / "checkout")
    shutil.copytree(template, made.root)
    monkeypatch.setattr("vigil.cli.reference.project_root", lambda: made.root)
    return made


def band_in(side, *, framework="jax"):
    """Return the band of one side of a place."""
    return side.bands[framework].band


def test_nothing_changed_is_said_and_is_exit_code_0(checkout, capsys):
    """An unchanged tree has no problem and no place."""
    assert main(["reference", "diff"]) == 0
    assert "no sample was added or superseded, and no band has moved" in capsys.readouterr().out


def test_added_rows_are_shown_with_the_band_before_and_after(checkout, capsys):
    """More seeds, a little lower: their lot, both bands as they judge, and which values change sides."""
    added = make_rows(8, frameworks=["jax"], first=1100, mean=87.0)
    checkout.rows([*OLD, *added])
    found = checkout.compare()
    assert found.problems == []
    [place] = found.profiles
    old, new = band_in(place.old), band_in(place.new)
    assert (old, new) == (band(OLD), band([*OLD, *added]))
    assert [(added.lot.context, added.lot.release, added.lot.rows) for added in place.added] == [("jax-jit-fp32-x1", "0.10.2", 8)]
    assert new.low < old.low < new.high
    assert place.moves["jax"].now_inside[0] == (new.low, old.low)
    assert main(["reference", "diff"]) == 0
    out = capsys.readouterr().out
    assert f"old band    v1 ({QUICK.hash}): " in out
    assert all(f"{each.low:.2f} to {each.high:.2f} percent" in out for each in (old, new))
    assert f"now INSIDE, was outside: {new.low:.2f} to {old.low:.2f}" in out


def test_what_changed_is_an_answer(checkout, capsys):
    """Both bands, the added rows and what is no appending, each as it is compared."""
    checkout.rows([OLD[0].replace(value=80.0), *OLD[1:], *make_rows(8, frameworks=["jax"], first=1100, mean=87.0)])
    checkout.rows([make_entry(OLD[2:3])], ENTRIES)
    found, compared = answer_of(capsys, DiffAnswer, "reference", "diff", "HEAD"), checkout.compare()
    assert (found.exit_code, found.commit, list(found.problems)) == (1, compared.base.commit, list(compared.problems))
    [profile], [same] = found.profiles, compared.profiles
    assert profile.new.bands == dict(same.new.bands)
    assert profile.moves["jax"].now_inside == same.moves["jax"].now_inside
    assert [added.lot for added in profile.added] == [added.lot for added in same.added]
    assert [added.entry for added in profile.superseded] == [added.entry for added in same.superseded]


def test_an_unknown_file_of_rows_is_seen_before_git_knows_it(checkout):
    """What somebody forgot to add to git is compared too."""
    checkout.rows(make_rows(8, first=1100), "reference_results/resnet_cifar/quick-jax-2026-12-01.jsonl")
    [place] = checkout.compare().profiles
    assert sum(added.lot.rows for added in place.added) == 16


def test_samples_that_the_old_band_would_not_let_pass_are_marked(checkout):
    """Rows of a regressed release, which would widen the band, are judged by the band there was; good rows are not marked."""
    worse = make_rows(8, frameworks=["tensorflow"], mean=70.0)
    good = make_rows(8, frameworks=["torch"], first=1200)
    checkout.rows([*OLD, *worse, *good])
    [place] = checkout.compare().profiles
    judged = {added.lot.context: added.by_the_old_band for added in place.added}
    assert judged["tensorflow-jit-fp32-x1"].startswith("regressed: the mean of 8 runs is")
    assert judged["torch-jit-fp32-x1"] == "reproduced"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("value", 91.0, "value 88.4 is now 91.0"),
        ("seed", 999, "seed 1000 is now 999"),
        ("dirty", True, "dirty false is now true"),
        ("data", {"name": "generated", "checksum": "beef"}, 'data.checksum "c0dec0de'),
        ("environment", {"threads": 2}, "environment.threads 1 is now 2"),
        ("environment", {}, 'environment.threads 1 is now "(no such key)"'),
        ("verify", {"verdict": "reproduced", "reason": "r", "verify_id": None, "golden": None}, 'verify "(no such key)" is now'),
    ],
)
def test_an_edited_row_is_an_error_that_names_what_was_edited(checkout, capsys, key, value, said):
    """Whatever was changed in a row, also what moves no band, is exit code 1 with run, old and new value."""
    rows = [row.as_json() for row in OLD]
    rows[0]["value"] = 88.4
    checkout.rows(rows)
    checkout.commit()
    rows[0][key] = value
    checkout.rows(rows)
    assert main(["reference", "diff"]) == 1
    out = capsys.readouterr().out
    assert "PROBLEM EDITED: resnet_cifar quick, jax-jit-fp32-x1 seed" in out
    assert f"(run {rows[0]['run_id']})" in out
    assert said in out


def test_a_row_edited_in_an_earlier_commit_of_the_branch_is_found(checkout):
    """The comparison is with where the branch began, not with its last commit."""
    checkout.git("checkout", "--quiet", "-b", "change")
    rows = [row.as_json() for row in OLD]
    rows[3]["value"] += 0.25
    checkout.rows(rows)
    checkout.commit()
    checkout.commit()
    assert checkout.compare("HEAD").problems == []
    found = diff_references(Kept(checkout.root), default_base(checkout.root))
    assert [line.split(":")[0] for line in found.problems] == ["EDITED"]
    assert band_in(found.profiles[0].old) != band_in(found.profiles[0].new)


def test_the_same_row_written_in_another_way_is_no_edit(checkout):
    """Key order, spaces and the file that a row stands in say nothing about a sample."""
    moved_rows = [dict(reversed(row.as_json().items())) for row in OLD]
    checkout.rows([])
    checkout.rows(moved_rows, "reference_results/resnet_cifar/quick-jax-2026-11-22.jsonl")
    found = checkout.compare()
    assert (found.problems, found.profiles) == ([], [])


def test_rows_that_are_not_listed_are_an_error(checkout):
    """Nobody could read them once they are merged; a file that a commit leaves without its line is named."""
    path = checkout.root / FILE
    path.with_name("quick-jax-2026-11-23.jsonl").write_text(make_row(seed=1011).line())
    [problem] = checkout.compare().problems
    assert problem.startswith("NOT AS LISTED: ")
    assert "quick-jax-2026-11-23.jsonl: not listed in" in problem


def test_a_removed_row_is_an_error(checkout, capsys):
    """One row less, or a whole folder less: each row is named."""
    checkout.rows(OLD[1:])
    assert main(["reference", "diff"]) == 1
    out = capsys.readouterr().out
    assert f"PROBLEM REMOVED: resnet_cifar quick, jax-jit-fp32-x1 seed 1000 (run {OLD[0].run_id})" in out
    assert "to take it out of the bands: supersede it" in out
    (checkout.root / FILE).unlink()
    assert len(checkout.compare().problems) == len(OLD)


def test_rows_that_the_default_branch_got_meanwhile_are_not_missing(checkout):
    """A branch that began before rows were added elsewhere has removed nothing."""
    checkout.git("checkout", "--quiet", "-b", "change")
    checkout.git("checkout", "--quiet", "main")
    checkout.rows([*OLD, *make_rows(8, first=1100)])
    checkout.commit()
    checkout.git("checkout", "--quiet", "change")
    found = checkout.compare("main")
    assert (found.problems, found.profiles) == ([], [])
    assert "as it was when HEAD left it" in found.base.name


def test_superseded_rows_are_shown_with_reason_and_both_bands(checkout):
    """The entry that is new is told, one that was there before is not, and the new band lacks the rows."""
    first = make_entry(OLD[:2])
    checkout.rows([first], ENTRIES)
    checkout.commit()
    checkout.rows([first, make_entry(OLD[8:], by="#5", reason=f"{REASON} | <b>bold</b>")], ENTRIES)
    found = checkout.compare()
    assert found.problems == []
    [place] = found.profiles
    [entry] = place.superseded
    assert (len(entry.entry.run_ids), entry.entry.by) == (8, "#5")
    assert (band_in(place.old).n, band_in(place.new)) == (14, None)
    assert any("verdicts WILL BE unknown" in line for line in diff_lines(found))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([], "ENTRY EDITED OR REMOVED"),
        ([make_entry(OLD[:3])], "ENTRY EDITED OR REMOVED"),
        ([make_entry(OLD[:2], reason=f"{REASON}, says the author")], "ENTRY EDITED OR REMOVED"),
        ([make_entry(OLD[:2]), make_entry(OLD[1:3])], "ENTRY THAT CANNOT BE"),
        ([make_entry(OLD[:2]), make_entry(OLD[:2])], "ENTRY THAT CANNOT BE"),
        ([make_entry(OLD[:2]), make_entry(OLD[3:4], run_ids=["nobody"])], "'nobody': there is no such row"),
    ],
)
def test_an_entry_that_is_taken_back_or_cannot_be_is_an_error(checkout, after, said):
    """Bad samples would come back into the band: without the entry, with fewer rows, with rows named twice or not at all."""
    checkout.rows([make_entry(OLD[:2])], ENTRIES)
    checkout.commit()
    checkout.rows(after, ENTRIES)
    assert any(said in line for line in checkout.compare().problems)


def test_a_removed_row_that_an_entry_names_is_two_errors(checkout):
    """A row is not removed by superseding it first."""
    checkout.rows([make_entry(OLD[:1])], ENTRIES)
    checkout.rows(OLD[1:])
    kinds = [line.split(":")[0] for line in checkout.compare().problems]
    assert kinds == ["REMOVED", "ENTRY THAT CANNOT BE"]


def test_an_entry_without_a_reason_is_refused_with_its_line(checkout):
    """A file that cannot be read is no comparison: exit code 3, with file and line."""
    checkout.rows([make_entry(OLD[:1], reason="because")], ENTRIES)
    with pytest.raises(ReferenceError_, match=r"superseded\.jsonl:1: reason: found 'because'"):
        checkout.compare()
    assert main(["reference", "diff"]) == 3


def test_a_sample_copied_under_another_name_is_an_error(checkout):
    """The same seed, context and release with another run id would count twice; superseded, it may be measured again."""
    copied = make_row(seed=1000, value=OLD[0].value, run_id="copied")
    checkout.rows([*OLD, copied])
    [problem] = checkout.compare().problems
    assert "REPEATED" in problem
    assert "(run copied)" in problem
    checkout.rows([make_entry(OLD[:1])], ENTRIES)
    assert checkout.compare().problems == []


def test_doubtful_rows_are_told_apart(checkout):
    """Dirty rows, rows of commits that nobody has, and rows without a verification are listed; rows beyond doubt are not."""
    commit = checkout.git("rev-parse", "HEAD")
    note = {"verdict": "reproduced", "reason": "all", "verify_id": "v", "golden": None}
    fine = {"commit": commit, "verify": note}
    rows = [make_row(seed=1100 + number, **fine) for number in range(5)]
    rows[1] = rows[1].replace(dirty=True)
    rows[2] = rows[2].replace(commit="f" * 40)
    rows[3] = rows[3].replace(commit=None, dirty=None)
    rows[4] = rows[4].replace(verify={**note, "verdict": "unknown"})
    checkout.rows([*OLD, *rows])
    [place] = checkout.compare().profiles
    names = [row.run_id for row in rows]
    assert place.dirty == [names[1], names[3]]
    assert place.unknown_commits == [names[2], names[3]]
    assert place.unverified == [names[4]]


def test_a_changed_recipe_leaves_its_reference_behind(checkout):
    """A raised version without new samples: no row has changed, and verdicts will be unknown."""
    path = checkout.root / "recipes" / "resnet_cifar.yaml"
    path.write_text(path.read_text().replace("\nversion: 1\n", "\nversion: 2\n"))
    found = checkout.compare()
    [place] = found.profiles
    assert (place.old.identity.version, place.new.identity.version) == (1, 2)
    assert (band_in(place.old), band_in(place.new)) == (band(OLD), None)
    text = "\n".join(diff_lines(found))
    assert "verdicts WILL BE unknown" in text
    assert "the recipe has changed" in text


def test_new_samples_of_a_changed_recipe_are_beside_the_band_of_the_old_one(checkout):
    """Each band is made by the recipe of its own side, and the added rows are not judged by a band of another training."""
    path = checkout.root / "recipes" / "resnet_cifar.yaml"
    path.write_text(path.read_text().replace("\nversion: 1\n", "\nversion: 2\n"))
    added = make_rows(8, first=1100, mean=60.0, recipe=QUICK.replace(version=2))
    checkout.rows([*OLD, *added])
    [place] = checkout.compare().profiles
    assert band_in(place.old) == band(OLD)
    assert band_in(place.new).mean == pytest.approx(60.0, abs=1.0)
    assert {added.by_the_old_band for added in place.added} == {None}


def test_a_broken_recipe_in_the_tree_is_its_own_error(checkout):
    """A recipe that cannot be read now is told with its line; one that could not be read then has no band."""
    path = checkout.root / "recipes" / "resnet_cifar.yaml"
    whole = path.read_text()
    path.write_text("name: [")
    with pytest.raises(RecipeError):
        checkout.compare()
    checkout.commit()
    path.write_text(whole)
    [place] = checkout.compare().profiles
    assert place.old.bands["jax"].reason == "there is no such recipe: no band"
    assert band_in(place.new) == band(OLD)


def test_what_else_changed_below_is_listed(checkout):
    """A golden tape that is gone, and a new file, are no rows and are not passed over."""
    tape = "reference_results/resnet_cifar/verify/golden-quick.npz"
    checkout.rows([], tape)
    checkout.commit()
    (checkout.root / tape).unlink()
    checkout.rows([], "reference_results/known_findings.yaml")
    found = checkout.compare()
    assert found.others == ["A reference_results/known_findings.yaml", f"D {tape}"]
    assert f"also changed: D {tape}" in diff_lines(found)


@pytest.mark.parametrize(
    ("old", "new", "outside", "inside"),
    [
        ((1.0, 4.0), (1.0, 4.0), (), ()),
        ((1.0, 4.0), (2.0, 3.0), ((1.0, 2.0), (3.0, 4.0)), ()),
        ((1.0, 4.0), (2.0, 5.0), ((1.0, 2.0),), ((4.0, 5.0),)),
        ((1.0, 2.0), (3.0, 4.0), ((1.0, 2.0),), ((3.0, 4.0),)),
        ((2.0, 3.0), (1.0, 4.0), (), ((1.0, 2.0), (3.0, 4.0))),
    ],
)
def test_values_that_change_sides_are_intervals(old, new, outside, inside):
    """The same, narrower, shifted, apart and wider bands."""
    bands = [band(OLD).replace(low=low, high=high) for low, high in (old, new)]
    assert band_move(*bands) == BandMove(now_outside=outside, now_inside=inside)
    assert band_move(None, bands[1]) == BandMove()


def test_the_base_is_the_default_branch_where_there_is_one(checkout):
    """On another branch main's, with no such branch HEAD; a revision that is not there and one without history are told."""
    first = checkout.git("rev-parse", "HEAD")
    checkout.git("checkout", "--quiet", "-b", "change")
    checkout.commit()
    assert default_base(checkout.root).commit == first
    checkout.git("branch", "--quiet", "-D", "main")
    assert default_base(checkout.root).name == "HEAD"
    for wrong in ("no_such", "--all", ""):
        with pytest.raises(UsageError, match="BASE: found"):
            merge_base(checkout.root, wrong)
    checkout.git("checkout", "--quiet", "--orphan", "stranger")
    # In the second of the first commit, an equal one would be the same.
    checkout.commit("stranger")
    with pytest.raises(CannotRun, match="no common ancestor"):
        merge_base(checkout.root, "change")


def test_a_folder_that_is_no_checkout_is_told(tmp_path, monkeypatch):
    """Outside git there is nothing to compare with."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(CannotRun, match="no git checkout"):
        default_base(tmp_path)


@pytest.fixture
def own(template, tmp_path, monkeypatch):
    """A checkout of a user's own, in a subfolder of which lie a recipe and, beside it, its references."""
    made = Checkout(tmp_path / "theirs")
    shutil.copytree(template, made.root)
    shutil.rmtree(made.root / "reference_results")
    (made.root / "recipes").rename(made.root / "work")
    (made.root / "work" / "resnet_cifar.yaml").rename(made.root / "work" / "mine.yaml")
    path = made.root / "work" / "mine.yaml"
    path.write_text(path.read_text().replace("\nname: resnet_cifar\n", "\nname: mine\n", 1))
    made.rows(MINE, f"work/{OWN_FILE}")
    made.rows([make_row()], "work/reference_results/other/quick-jax-2026-11-21.jsonl")
    made.commit()
    monkeypatch.chdir(made.root / "work")
    return made


def test_the_references_of_an_own_recipe_are_compared_in_their_repository(own, capsys):
    """Added rows with both bands, an edited one as a problem; what other recipes there have is not looked at."""
    added = make_rows(8, frameworks=["jax"], first=1100, mean=87.0, recipe=OWN)
    own.rows([*MINE, *added], f"work/{OWN_FILE}")
    own.rows([], "work/reference_results/other/quick-jax-2026-11-21.jsonl")
    found = answer_of(capsys, DiffAnswer, "reference", "diff", "--recipe", "./mine.yaml")
    [profile] = found.profiles
    assert (found.exit_code, found.problems, profile.recipe) == (0, (), "mine")
    assert [lot.lot.rows for lot in profile.added] == [8]
    assert profile.old.bands["jax"].band.n < profile.new.bands["jax"].band.n
    own.rows([MINE[0].replace(value=91.0), *MINE[1:]], f"work/{OWN_FILE}")
    assert main(["reference", "diff", "--recipe", "mine.yaml"]) == 1
    assert f"EDITED: mine quick, {MINE[0].context} seed {MINE[0].seed}" in capsys.readouterr().out


def test_each_side_has_the_own_recipe_as_it_was(own, capsys):
    """A raised version leaves the samples behind, as of a recipe that Vigil ships."""
    path = own.root / "work" / "mine.yaml"
    path.write_text(path.read_text().replace("\nversion: 1\n", "\nversion: 2\n"))
    [profile] = answer_of(capsys, DiffAnswer, "reference", "diff", "--recipe", str(path)).profiles
    assert (profile.old.identity.version, profile.new.identity.version) == (1, 2)
    assert (profile.old.bands["jax"].band.n, profile.new.bands["jax"].band) == (len(MINE), None)


def test_references_in_a_repository_of_their_own_are_compared(own, tmp_path, monkeypatch, capsys):
    """VIGIL_REFERENCE_DIR may be the top of one; its commits do not have the recipe, which is taken as it is now."""
    kept = Checkout(tmp_path / "kept")
    kept.root.mkdir()
    kept.git("init", "--quiet", "--initial-branch=main", "--template=")
    kept.rows(MINE, "mine/quick-all-2026-11-21.jsonl")
    kept.commit()
    kept.rows(MINE[1:], "mine/quick-all-2026-11-21.jsonl")
    (kept.root / "mine" / "verify").mkdir()
    (kept.root / "mine" / "verify" / "golden-quick.npz").touch()
    monkeypatch.setenv("VIGIL_REFERENCE_DIR", str(kept.root))
    found = answer_of(capsys, DiffAnswer, "reference", "diff", "HEAD", "--recipe", "mine.yaml")
    assert [problem.split(":")[0] for problem in found.problems] == ["REMOVED"]
    assert found.profiles[0].old.bands["jax"].band.n == len(MINE)
    assert found.others == ("A mine/verify/golden-quick.npz",)


def test_own_references_that_cannot_be_compared_are_told(own, tmp_path, monkeypatch, capsys):
    """None at all is wrong usage; some that git does not keep are exit code 3, each with what to do."""
    alone = tmp_path / "alone"
    alone.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    shutil.copy("mine.yaml", alone)
    assert main(["reference", "diff", "--recipe", str(alone / "mine.yaml")]) == 2
    assert f"there is no {alone}/reference_results/mine. To make some: vigil reference add" in capsys.readouterr().err
    shutil.copytree("reference_results", alone / "reference_results")
    assert main(["reference", "diff", "--recipe", str(alone / "mine.yaml")]) == 3
    assert f"{alone}/reference_results: lies in no git repository" in capsys.readouterr().err


def test_one_of_the_shipped_recipes_is_compared_alone(checkout, capsys):
    """By its name; what another one has lost is then no problem of this one."""
    checkout.rows([make_row()], "reference_results/digits_mlp/quick-jax-2026-11-21.jsonl")
    checkout.rows(OLD[1:])
    assert main(["reference", "diff", "HEAD", "--recipe", "moco_lite"]) == 0
    assert main(["reference", "diff", "HEAD", "--recipe", "resnet_cifar"]) == 1
    assert "REMOVED" in capsys.readouterr().out


def test_a_file_is_tracked_once_it_is_added(checkout):
    """What undoes an entry depends on it."""
    checkout.rows([make_entry(OLD[:1])], ENTRIES)
    assert (is_tracked(checkout.root / FILE), is_tracked(checkout.root / ENTRIES)) == (True, False)


def test_markdown_shows_both_bands_and_escapes_what_people_wrote(checkout, tmp_path):
    """The page of a pull request: a table of bands, the added rows, problems first, and no markup from a reason."""
    hostile = "Wrong padding <img src=x> | [a](http://x) @someone `code` **bold**"
    rows = [row.as_json() for row in OLD]
    rows[9]["value"] += 1.0
    checkout.rows([*rows, *make_rows(8, frameworks=["tensorflow"])])
    checkout.rows([make_entry(OLD[:2], reason=hostile)], ENTRIES)
    page = tmp_path / "page.md"
    assert main(["reference", "diff", "HEAD", "--markdown", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert text == diff_markdown(checkout.compare())
    assert text.index("1 problems") < text.index("### resnet")
    assert f"| v1 ({QUICK.hash}) | 16 of 8 seeds |" in text
    assert "| tensorflow-jit-fp32-x1 | 1.0 | 8 | 1000 to 1007 |" in text
    for planted in ("<img", "[a](http", "@someone", "`code`", "**bold**"):
        assert planted not in text
    assert "Wrong padding &lt;img src=x&gt;" in text
