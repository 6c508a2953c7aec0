"""References and recipes as a git revision has them, read without a checkout."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from vigil.digests import FILE_NAME as LIST
from vigil.errors import CannotRun, RecipeError, UsageError
from vigil.recipes.loading import Recipe, load_recipe
from vigil.references.samples import decoded, read_text

FOLDER = "reference_results"
# Where a checkout's default branch is looked for, the remote's own word first.
_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")

Texts = dict[str, dict[str, str]]  # recipe -> file name -> content


@dataclasses.dataclass(frozen=True)
class Revision:
    """A commit, and how it was chosen."""

    commit: str
    name: str


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


def texts_at(root: Path, commit: str) -> Texts:
    """Return the files of samples and entries of a commit."""
    listed = git(root, "ls-tree", "-r", "-z", "--name-only", commit, "--", FOLDER) or b""
    found: Texts = {}
    for path in sorted(filter(_is_of_samples, listed.decode().split("\0"))):
        _, recipe, name = path.split("/")
        content = git(root, "show", f"{commit}:./{path}")
        if content is None:
            raise CannotRun(f"{commit[:12]}:{path}: git cannot read it. Check the repository with `git fsck`.")
        found.setdefault(recipe, {})[name] = decoded(content, where=f"{commit[:12]}:{path}")
    return found


def texts_now(root: Path) -> Texts:
    """Return the files of samples and entries of the working tree, those that git does not know yet too."""
    found: Texts = {}
    for path in sorted((root / FOLDER).glob("*/*.jsonl")):
        found.setdefault(path.parent.name, {})[path.name] = read_text(path)
    return found


def recipe_at(root: Path, commit: str, name: str) -> Recipe | None:
    """Return recipes/<name>.yaml as a commit has it; None where it has none, or one that this Vigil cannot read."""
    content = git(root, "show", f"{commit}:./recipes/{name}.yaml")
    if content is None:
        return None
    with tempfile.TemporaryDirectory(prefix="vigil-recipe-") as folder:
        path = Path(folder) / f"{name}.yaml"
        path.write_bytes(content)
        try:
            return load_recipe(str(path))
        except RecipeError:
            return None


def recipe_now(root: Path, name: str) -> Recipe | None:
    """Return recipes/<name>.yaml of the working tree; None where there is none. Raises RecipeError for a broken one."""
    path = root / "recipes" / f"{name}.yaml"
    return load_recipe(str(path)) if path.is_file() else None


def other_changes(root: Path, commit: str) -> list[str]:
    """Return what else changed below reference_results/, golden tapes and clean runs above all: `M path`, `A path`, `D path`."""
    tracked = (git(root, "diff", "--name-status", "--no-renames", "--relative", "-z", commit, "--", FOLDER) or b"").decode()
    words = tracked.split("\0")
    found = {path: status for status, path in zip(words[::2], words[1::2], strict=False)}
    unknown = (git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", FOLDER) or b"").decode()
    found |= {path: "A" for path in unknown.split("\0") if path}
    return [f"{status} {path}" for path, status in sorted(found.items()) if not _is_of_samples(path) and Path(path).name != LIST]


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


def _is_of_samples(path: str) -> bool:
    return path.count("/") == 2 and path.endswith(".jsonl")
