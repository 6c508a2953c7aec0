"""The raw samples of a recipe: read, chosen for a verdict, and appended to.

Rows are never edited or removed. Those that an entry supersedes judge nothing, and still count as present.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vigil.digests import digest_of, read_listed
from vigil.documents.identity import Identity
from vigil.documents.line import append_lines, numbered
from vigil.documents.reference_row import ReferenceError_, ReferenceRow, Sample
from vigil.documents.superseding import FILE_NAME, SupersedingEntry
from vigil.errors import DirectoryError, VigilError
from vigil.locks import locked
from vigil.recipes.loading import load_recipe, recipe_names
from vigil.recipes.recipe import in_command

# Below these a band says more about luck than about the recipe: the t quantile grows fast under 8 samples, and how far
# seeds differ cannot be seen from a few of them, however many contexts each ran in.
MIN_SAMPLES = 8
MIN_SEEDS = 5

PlacedEntry = tuple[str, SupersedingEntry]
"""An entry and the line that it stands in."""


@dataclass(frozen=True)
class Selection:
    """The rows that may judge a recipe, or why there are none."""

    rows: tuple[ReferenceRow, ...]
    reason: str | None


@dataclass(frozen=True)
class RecipeSamples:
    """All that is kept of one recipe: every row, and by run the entry that supersedes it. digests: of its files, by name."""

    rows: tuple[ReferenceRow, ...]
    superseded: Mapping[str, SupersedingEntry]
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def standing(self) -> list[ReferenceRow]:
        """The rows that may judge."""
        return [row for row in self.rows if row.run_id not in self.superseded]


def load_rows(directory: Path, recipe_name: str) -> list[ReferenceRow]:
    """Return every row in `directory`/`recipe_name` that is not superseded; none if the folder is not there."""
    return load_samples(directory, recipe_name).standing


def load_samples(directory: Path, recipe_name: str) -> RecipeSamples:
    """Return what the *.jsonl files in `directory`/`recipe_name` hold.

    Raises:
        DataError: A file was altered, cut off, lost, or put there by hand.
        ReferenceError_: A row or an entry cannot be, with file and line.
    """
    folder = Path(directory) / recipe_name
    # Entries before rows: one that is written meanwhile must not name a row that was not there yet when rows were read.
    superseding = read_listed(folder, FILE_NAME)
    contents = {name: content for name, content in read_listed(folder, "*.jsonl").items() if name != FILE_NAME} | superseding
    texts = {name: decoded(content, where=f"{folder}/{name}") for name, content in contents.items()}
    entries = parse_entries(texts.pop(FILE_NAME, ""), where=f"{folder}/{FILE_NAME}")
    rows = parse_rows(texts, recipe_name=recipe_name, place=str(folder))
    digests = {f"{recipe_name}/{name}": digest_of(content) for name, content in sorted(contents.items())}
    return RecipeSamples(tuple(rows), superseded_by(entries, rows), digests)


def read_text(path: Path) -> str:
    """Return the content of a file of rows or entries. Raises ReferenceError_ for one that cannot be read, or is no text."""
    try:
        return decoded(path.read_bytes(), where=str(path))
    except OSError as error:
        raise ReferenceError_(f"{path}: cannot be read ({error.strerror}).") from error


def decoded(content: bytes, *, where: str) -> str:
    """Return content as text. Raises ReferenceError_ for bytes that are no UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReferenceError_(
            f"{where}: byte {error.start} is no UTF-8: the file is damaged; restore it from version control."
        ) from None


def parse_rows(texts: Mapping[str, str], *, recipe_name: str, place: str) -> list[ReferenceRow]:
    """Return the rows of a recipe's files, given as name -> content. Raises ReferenceError_ with file and line."""
    rows: list[ReferenceRow] = []
    first: dict[str, tuple[str, ReferenceRow]] = {}
    for name, text in texts.items():
        for where, line in numbered(text, where=f"{place}/{name}"):
            row = ReferenceRow.parse(line, where=where)
            if row.recipe.name != recipe_name:
                raise ReferenceError_(
                    f"{where}: recipe.name: found {row.recipe.name!r}, allowed in this folder is "
                    f"{recipe_name!r}. Move the row to its recipe's folder."
                )
            first_where, same_run = first.setdefault(row.run_id, (where, row))
            if same_run != row:
                raise ReferenceError_(
                    f"{where}: run_id {row.run_id!r} stands at {first_where} with other content. Rows are never edited: "
                    "restore both from version control."
                )
            rows.append(row)
    return rows


def parse_entries(text: str, *, where: str) -> list[PlacedEntry]:
    """Return (place, entry) of each line of a file. Raises ReferenceError_ with file and line."""
    return [(place, SupersedingEntry.parse(line, where=place)) for place, line in numbered(text, where=where)]


def superseded_by(entries: Iterable[PlacedEntry], rows: Sequence[ReferenceRow]) -> dict[str, SupersedingEntry]:
    """Return the entry of each run that is superseded.

    Raises ReferenceError_ for a run that there is no row of, one of another recipe, profile or metric than the entry says, and
    one that is superseded twice: a mistyped name would leave a bad sample in the band and look as if it were out.
    """
    by_run = {row.run_id: row for row in rows}
    superseded: dict[str, SupersedingEntry] = {}
    for where, entry in entries:
        for run_id in entry.run_ids:
            if run_id not in by_run:
                raise ReferenceError_(
                    f"{where}: run_ids: {run_id!r}: there is no such row, so nothing is superseded by its name."
                )
            differing = _difference(entry, by_run[run_id])
            if differing:
                raise ReferenceError_(f"{where}: run_ids: {run_id!r}: its row has {differing}.")
            if run_id in superseded:
                raise ReferenceError_(f"{where}: run_ids: {run_id!r}: superseded already ({superseded[run_id].reason}).")
            superseded[run_id] = entry
    return superseded


def _difference(entry: SupersedingEntry, row: ReferenceRow) -> str | None:
    pairs = {f"recipe.{key}": (getattr(entry.recipe, key), getattr(row.recipe, key)) for key in Identity.model_fields}
    pairs |= {"metric": (entry.metric, row.metric), "data.checksum": (entry.data.checksum, row.data.checksum)}
    return next((f"{key} {there!r}, the entry {said!r}" for key, (said, there) in pairs.items() if said != there), None)


def select(
    rows: Sequence[ReferenceRow], *, recipe: Identity, metric: str, data: str | None, source: str | None = None
) -> Selection:
    """Return the rows with the recipe's name, profile, version and hash, the metric, and the data's checksum; each run once.

    The hash names an embedded set, and does not hold the code that makes its pixels. `reason` is None when there are any, and
    otherwise says what was found, what is needed and how to make it. `source`: the file of a recipe of a user's own.
    """
    same_profile = [
        row for row in rows if (row.recipe.name, row.recipe.profile, row.metric) == (recipe.name, recipe.profile, metric)
    ]
    of_recipe = {row.run_id: row for row in same_profile if row.recipe == recipe}
    matching = tuple(row for row in of_recipe.values() if row.data.checksum == data)
    if matching:
        return Selection(matching, None)
    place = f"{recipe.name}, profile {recipe.profile}, metric {metric}"
    help_ = how_to_make(recipe.name, recipe.profile, source=source)
    if not same_profile:
        return Selection((), f"there are no reference samples for {place}; {help_}")
    if of_recipe:
        others = ", ".join(sorted({row.data.checksum for row in of_recipe.values()}))
        return Selection(
            (),
            f"the reference samples for {place} are of other data (checksum {others}; here {data}): the code or the files "
            f"that the images come from have changed; {help_}",
        )
    kinds = sorted({(row.recipe.version, row.recipe.hash) for row in same_profile}, key=str)
    versions = ", ".join(f"version {version} ({digest})" for version, digest in kinds)
    return Selection(
        (),
        f"the reference samples for {place} are of {versions}, the recipe is version {recipe.version} ({recipe.hash}); {help_}",
    )


def newest_checksum(rows: Iterable[ReferenceRow]) -> str:
    """Return the data that the newest of rows are of; nothing where there is no row.

    Rows of other data judge nothing of today's: those of the newest are what a run will be held to.
    """
    newest = max(rows, key=lambda row: row.date, default=None)
    return newest.data.checksum if newest is not None else ""


def how_to_make(recipe: str, profile: str, *, source: str | None = None) -> str:
    """Return what to run to get reference samples of a recipe's profile, both by name, and what it costs.

    Args:
        source: the file of a recipe of a user's own; where nobody knows it, a place is left for it.
    """
    named = in_command(recipe, source) if source or recipe in recipe_names() else f"PATH/{recipe}.yaml"
    cost = ""
    with contextlib.suppress(VigilError):  # of a file that is no longer there nobody knows the steps
        cost = f" (10 runs of {load_recipe(source or recipe).resolve(profile)['steps']:,} steps on each framework)"
    return f"to make them{cost}: vigil reference add {named} --profile {profile}; what there is: vigil reference show {named}"


def append_rows(directory: Path, rows: Sequence[ReferenceRow]) -> list[Path]:
    """Append rows to `directory`/<recipe>/<profile>-<framework>-<date>.jsonl and return the files written.

    Everything is checked before anything is written, and each file is replaced whole, so that a kill leaves it as it
    was or complete. Another process that appends at the same time waits.
    """
    by_file: dict[Path, list[ReferenceRow]] = {}
    for row in rows:
        by_file.setdefault(_file_of(Path(directory), row), []).append(row)
    with lock_references(Path(directory)):
        for name in sorted({row.recipe.name for row in rows}):
            _refuse_repeats([row for row in rows if row.recipe.name == name], of=load_samples(directory, name))
        for path, added in by_file.items():
            append_lines(path, added)
    return sorted(by_file)


@contextlib.contextmanager
def lock_references(directory: Path) -> Iterator[None]:
    """Hold the folder of references alone; whoever comes second waits. It must be held from reading to writing.

    The folder itself is locked, so that no lock file lies in a folder that git shows.

    Raises:
        DirectoryError: The folder cannot be made or locked.
    """
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(directory))
        except OSError as error:
            raise DirectoryError(
                f"{directory}: cannot be locked ({error.strerror}). References are kept there; some network file systems lock no "
                "folders. Use a checkout on a local disk."
            ) from error
        yield


def _refuse_repeats(rows: Sequence[ReferenceRow], *, of: RecipeSamples) -> None:
    run_ids = {row.run_id for row in of.rows}
    samples: dict[Sample, str] = {row.sample: row.run_id for row in of.standing}
    for row in rows:
        if row.run_id in run_ids:
            raise ReferenceError_(f"run {row.run_id}: already a reference sample. A run counts once.")
        same = samples.get(row.sample)
        if same is not None:
            raise ReferenceError_(
                f"run {row.run_id}: seed {row.seed} in {row.context} with framework version "
                f"{row.framework_version} is already in the reference (run {same}). A repeat is no new sample: take "
                "another seed."
            )
        run_ids.add(row.run_id)
        samples[row.sample] = row.run_id


def _file_of(directory: Path, row: ReferenceRow) -> Path:
    parts = (row.recipe.name, row.recipe.profile, row.framework, row.date)
    for part in parts:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", part):
            raise ReferenceError_(
                f"run {row.run_id}: found {part!r} in a file name; allowed are letters, digits, '_', '-' and '.'."
            )
    name, profile, framework, date = parts
    return directory / name / f"{profile}-{framework}-{date}.jsonl"
