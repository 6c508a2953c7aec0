"""References and recipes as a git revision has them, read without a checkout."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from vigil.digests import FILE_NAME as LIST
from vigil.errors import CannotRun, RecipeError, UsageError
from vigil.paths import expanded, reference_directory
from vigil.recipes.loading import Recipe, load_recipe
from vigil.references.samples import decoded, read_text

FOLDER = "reference_results"
# Where a checkout's default branch is looked for, the remote's own word first.
_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")

Texts = dict[str, dict[str, str]]  # recipe -> file name -> content


@dataclasses.dataclass(frozen=True)
class Kept:
    """Where references are kept: a folder of a git checkout.

    folder: below `root`, which git is asked in. recipe: the name of the one that is looked at; None for all.
    own: that recipe, where it is a user's own; those that Vigil ships are in recipes/ of the same checkout.
    """

    root: Path
    folder: str = FOLDER
    recipe: str | None = None
    own: Recipe | None = None

    @property
    def directory(self) -> Path:
        return self.root / self.folder


@dataclasses.dataclass(frozen=True)
class Revision:
    """A commit, and how it was chosen."""

    commit: str
    name: str


def kept_of(own: Recipe) -> Kept:
    """Return where the references of a user's own recipe are kept.

    Raises:
        UsageError: There are none.
        CannotRun: Git does not keep them.
    """
    directory = reference_directory(own.source)
    if not (directory / own.name).is_dir():
        raise UsageError(
            f"--recipe: {own.as_asked} has no references: there is no {directory / own.name}. To make some: "
            f"vigil reference add {own.as_asked}; where they lie: its folder, or VIGIL_REFERENCE_DIR."
        )
    found = git(directory, "rev-parse", "--show-toplevel")
    if found is None:
        raise CannotRun(
            f"{directory}: lies in no git repository, and a change is what differs from a revision. Put it under version control "
            "together with its recipe: git init, git add, git commit."
        )
    root = Path(found.decode().rstrip("\n")).resolve()
    return Kept(root, directory.resolve().relative_to(root).as_posix(), own.name, own)


def default_base(root: Path) -> Revision:
    """Return where HEAD left the default branch; HEAD itself where no such branch is found."""
    for branch in _DEFAULT_BRANCHES:
        if _commit(root, branch):
            return merge_base(root, branch)
    head = _commit(root, "HEAD")
    if head is None:
        raise CannotRun(f"{root}: no git checkout with a commit. `vigil reference diff` compares with a revision of one.")
    return Revision(head, "HEAD")


def merge_base(root: Path, name: str) -> Revision:
    """Return the commit at which HEAD left a revision: what was added there since is nothing that is missing here.

    Raises:
        UsageError: There is no such revision.
        CannotRun: It has no common ancestor with HEAD, as in a shallow clone.
    """
    if name.startswith("-") or _commit(root, name) is None:
        raise UsageError(
            f"BASE: found {name!r}, no commit of this checkout. Allowed: a revision that is here; fetch it first, as in "
            "`git fetch origin`, then origin/BRANCH."
        )
    common = git(root, "merge-base", name, "HEAD")
    if common is None:
        raise CannotRun(
            f"BASE: {name} and HEAD have no common ancestor here, as in a shallow clone. Get the history: git fetch --unshallow."
        )
    commit = common.decode().strip()
    return Revision(commit, name if commit == _commit(root, name) else f"{name} as it was when HEAD left it")


def texts_at(kept: Kept, commit: str) -> Texts:
    """Return the files of samples and entries of a commit."""
    listed = git(kept.root, "ls-tree", "-r", "-z", "--name-only", commit, "--", kept.folder) or b""
    found: Texts = {}
    for path in sorted(listed.decode().split("\0")):
        if not _is_of_samples(path, kept):
            continue
        *_, recipe, name = path.split("/")
        content = git(kept.root, "show", f"{commit}:./{path}")
        if content is None:
            raise CannotRun(f"{commit[:12]}:{path}: git cannot read it. Check the repository with `git fsck`.")
        found.setdefault(recipe, {})[name] = decoded(content, where=f"{commit[:12]}:{path}")
    return found


def texts_now(kept: Kept) -> Texts:
    """Return the files of samples and entries of the working tree, those that git does not know yet too."""
    found: Texts = {}
    for path in sorted(kept.directory.glob("*/*.jsonl")):
        found.setdefault(path.parent.name, {})[path.name] = read_text(path)
    return found


def recipe_at(kept: Kept, commit: str, name: str) -> Recipe | None:
    """Return a recipe as a commit has it; None where it has none, or one that this Vigil cannot read.

    Of a recipe that another repository keeps than its references no commit says what it was: it is taken as it is now.
    """
    file = kept.root / "recipes" / f"{name}.yaml"
    if kept.own is not None and kept.own.source is not None:
        file = expanded(kept.own.source).resolve()
        if git(file.parent, "cat-file", "-e", commit) is None:
            return kept.own
    content = git(file.parent, "show", f"{commit}:./{file.name}") if file.parent.is_dir() else None
    if content is None:
        return None
    with tempfile.TemporaryDirectory(prefix="vigil-recipe-") as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_bytes(content)
        try:
            return load_recipe(str(path))
        except RecipeError:
            return None


def recipe_now(kept: Kept, name: str) -> Recipe | None:
    """Return a recipe of the working tree; None where there is none. Raises RecipeError for a broken one."""
    if kept.own is not None:
        return kept.own
    path = kept.root / "recipes" / f"{name}.yaml"
    return load_recipe(str(path)) if path.is_file() else None


def other_changes(kept: Kept, commit: str) -> list[str]:
    """Return what else changed among the references, golden tapes and clean runs above all: `M path`, `A path`, `D path`."""
    root, place = kept.root, kept.folder if kept.recipe is None else f"{kept.folder}/{kept.recipe}"
    tracked = (git(root, "diff", "--name-status", "--no-renames", "--relative", "-z", commit, "--", place) or b"").decode()
    words = tracked.split("\0")
    found = {path: status for status, path in zip(words[::2], words[1::2], strict=False)}
    unknown = (git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", place) or b"").decode()
    found |= {path: "A" for path in unknown.split("\0") if path}
    rest = {path: status for path, status in found.items() if not _is_of_samples(path, kept) and Path(path).name != LIST}
    return [f"{status} {path}" for path, status in sorted(rest.items())]


def unknown_commits(root: Path, commits: Iterable[str | None]) -> set[str | None]:
    """Return those that this repository does not have: nobody here can see which code made those samples."""
    return {commit for commit in set(commits) if commit is None or _commit(root, commit) is None}


def is_tracked(path: Path) -> bool:
    """Does git know the file?"""
    return git(path.parent, "ls-files", "--error-unmatch", "--", path.name) is not None


def git(root: Path, *arguments: str) -> bytes | None:
    """Return what git prints, or None where it refuses. Raises CannotRun when it cannot be started."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"git: cannot be run ({error}). References are compared through it: install git.") from error
    return done.stdout if done.returncode == 0 else None


def _commit(root: Path, name: str) -> str | None:
    found = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return found.decode().strip() if found else None


def _is_of_samples(path: str, kept: Kept) -> bool:
    """Is it a file of samples or entries, in the folder of a recipe?"""
    return path.endswith(".jsonl") and PurePosixPath(path).parent.parent == PurePosixPath(kept.folder)
