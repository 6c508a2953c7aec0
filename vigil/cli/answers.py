"""What `--json` writes of each verb that keeps no document of its own: closed, versioned types, as documents are.

`reproduce`, `resume`, `verify` and `compare` write the document that they keep; docs/json.md lists all of them, and their keys.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from vigil.documents.audit import AuditCoverage
from vigil.documents.context import Context
from vigil.documents.document import Document, Part
from vigil.documents.failure import Triage
from vigil.documents.identity import Identity
from vigil.documents.invocation import Invocation, PublishedTarget
from vigil.documents.judgement import JudgingBand
from vigil.documents.night import Night, NightRelease, StandingFinding
from vigil.documents.superseding import SupersedingEntry
from vigil.documents.verification import Verification
from vigil.references.overview import SampleGroup, SampleLot


class Answer(Document):
    """An answer. verb: which gave it, with its action. exit_code: that of the command."""

    schema_: int = Field(1, alias="schema")
    verb: str
    exit_code: int


class MatrixAnswer(Answer):
    """Every cell, in the order of the tables. not_installed: frameworks that were left out for that."""

    verb: Literal["matrix"] = "matrix"
    invocations: tuple[Invocation, ...]
    not_installed: tuple[str, ...]


class VerifyAnswer(Answer):
    """Every context of `verify --all`, in the order of the tables."""

    verb: Literal["verify"] = "verify"
    verifications: tuple[Verification, ...]
    not_installed: tuple[str, ...]


class CoverageAnswer(Answer):
    """What `audit --coverage` says of each namespace."""

    verb: Literal["audit"] = "audit"
    framework: str
    coverage: tuple[AuditCoverage, ...]


class TriagedFailure(Part):
    """A failure. where: the directory of the run, or the log. said: the runner's or conductor's own word, None of a log."""

    where: str
    said: str | None = None
    phase: str | None = None
    step: int | None = None
    triage: Triage


class TriageAnswer(Answer):
    """Every failure below a place. running: the runs of which nothing can be said yet."""

    verb: Literal["triage"] = "triage"
    place: str
    failures: tuple[TriagedFailure, ...]
    running: tuple[str, ...] = ()


class NothingNewTonight(Part):
    """Why there was nothing to do. since: the night that covered it. left: cells that wait. standing: what is still wrong."""

    since: str
    releases: dict[str, NightRelease]
    left: int
    standing: tuple[StandingFinding, ...]


class NightlyAnswer(Answer):
    """The night, or that nothing was new: one of the two is null. remarks: what could not be brought to MLflow."""

    verb: Literal["nightly"] = "nightly"
    night: Night | None
    nothing_new: NothingNewTonight | None
    remarks: tuple[str, ...]


class DriftSince(Part):
    """Where a change began: nights by number; night: null for a series that was away from the reference all along."""

    night: int | None
    release: str | None
    before: int | None
    release_before: str | None
    low: int | None
    high: int | None


class SiblingStep(Part):
    """The step of siblings at the night, after minus before, in standard deviations; spread: of a value within its seed."""

    size: float | None
    error: float | None
    freedom: float | None
    p_value: float | None
    spread: float | None
    n_before: int
    n_after: int


class DriftSiblings(Part):
    """Siblings of one kind. state: `moved`, `not moved` or `cannot tell`."""

    name: str
    cells: int
    state: str
    step: SiblingStep | None


class DriftCompany(Part):
    """What is said of a finding's siblings, and what it stands on."""

    summary: str
    groups: tuple[DriftSiblings, ...]


class StepSide(Part):
    """The last verification of a cell under one release; its worst tensor in floors, and of its limit."""

    release: str
    night: str | None
    verdict: str
    worst_ratio: float | None
    worst_score: float | None


class MovedBits(Part):
    """What the bits of a cell's two newest releases say. seeds: those that were compared and differ."""

    what: str
    old_release: str | None
    new_release: str
    seeds: tuple[int, ...]
    old: StepSide | None
    new: StepSide | None
    reason: str


class MovedCell(MovedBits):
    """The same, with its cell."""

    cell: dict[str, Any]


class DriftFinding(Part):
    """A series that drifts, as `vigil.drift.findings.Drift` explains it. cell: recipe, context and metric; of a pool `cells`."""

    label: str
    cell: dict[str, Any]
    what: Literal["dropped", "rose"]
    worse: bool | None
    size: float | None
    low: float | None
    high: float | None
    size_sd: float | None
    since: DriftSince
    p_values: dict[str, float]
    p: float
    q: float
    siblings: DriftCompany | None
    moved: MovedBits | None


class DriftGap(Part):
    """A cell that gives no value any more: the last night with one, tries since, and what the last of them said."""

    label: str
    cell: dict[str, Any]
    last_night: int
    tries: int
    reason: str


class DriftLook(Part):
    """What was looked at. asked: cells by question; releases: by framework; detectable_sd: in standard deviations."""

    cells: int
    tested: int
    too_short: int
    asked: dict[str, int]
    pools: int
    nights: int
    first_night: str | None
    last_night: str | None
    releases: dict[str, tuple[str, ...]]
    values: int
    independent_values: int
    ended_by_a_new_recipe: int
    without_any_value: int
    runs_outside_nights: int
    runs_with_fault: int
    detectable_sd: dict[str, float | None]
    false_discovery_rate: float
    expected_false: float


class DriftAnswer(Answer):
    """All that was found. nights: their ids; elsewhere a night is its place among these. as_of: of a history that was kept."""

    verb: Literal["drift"] = "drift"
    drifts: tuple[DriftFinding, ...]
    moved: tuple[MovedCell, ...]
    gaps: tuple[DriftGap, ...]
    nights: tuple[str, ...]
    looked_at: DriftLook
    as_of: str | None
    remarks: tuple[str, ...]


class SeenDifference(Part):
    """The smallest difference that so many runs find nine times in ten; null where it cannot be known.

    compare_pairs: does `vigil compare` pair so many seeds?
    """

    runs: int
    against_reference: float | None
    between_releases: float | None
    paired: float | None
    compare_pairs: bool


class NeededRuns(Part):
    """The fewest runs that find a difference of `effect`; null where no number of them that is allowed does."""

    effect: float
    against_reference: int | None
    between_releases: int | None
    paired: int | None


class PowerAnswer(Answer):
    """What runs can see, in the metric's unit. reason: why nothing is known; what follows `seeds` is null then.

    spread: of a run; framework: whose band is the widest, null where all are alike. learned: how far the mean is from chance.
    """

    verb: Literal["power"] = "power"
    recipe: Identity
    metric: str
    unit: str
    reason: str | None
    rows: int
    seeds: int
    spread: float | None
    framework: str | None
    within_seeds: float | None
    learned: float | None
    sees: tuple[SeenDifference, ...]
    needed: NeededRuns | None


class ShowAnswer(Answer):
    """Every group of samples that could stand in one band."""

    verb: Literal["reference show"] = "reference show"
    groups: tuple[SampleGroup, ...]


class AdmittedContext(Part):
    """What verify said of a context. is_refused: nothing of it was measured. directory: of its verify.json."""

    context: Context
    is_refused: bool
    said: str
    directory: str | None


class AddAnswer(Answer):
    """What was measured. there: samples that needed no run. added: the runs that became rows. failed: their directories."""

    verb: Literal["reference add"] = "reference add"
    recipe: Identity
    there: int
    contexts: tuple[AdmittedContext, ...]
    added: tuple[str, ...]
    failed: tuple[str, ...]


class SupersedeAnswer(Answer):
    """The entries that were appended to the file, a group of samples each. remaining: how many samples each leaves."""

    verb: Literal["reference supersede"] = "reference supersede"
    path: str
    entries: tuple[SupersedingEntry, ...]
    remaining: tuple[int, ...]


class DiffSide(Part):
    """What judges a profile on one side. identity: null where that side has no such recipe or profile."""

    identity: Identity | None
    unit: str | None
    rows: int
    seeds: int
    mean: float | None
    spread: float | None
    checksum: str | None
    bands: dict[str, JudgingBand]


class MovedBand(Part):
    """Values that changed sides between two bands, as intervals."""

    now_outside: tuple[tuple[float, float], ...]
    now_inside: tuple[tuple[float, float], ...]


class AddedSamples(Part):
    """Added rows of one context and release, and their verdict by the old band; null where that is of something else."""

    lot: SampleLot
    recipe: Identity
    by_the_old_band: str | None


class AddedEntry(Part):
    """An entry that was added, and the rows that it supersedes."""

    entry: SupersedingEntry
    contexts: tuple[SampleLot, ...]


class ChangedProfile(Part):
    """What changed in one profile. dirty, unknown_commits, unverified: added runs that a reviewer should ask of."""

    recipe: str
    profile: str
    old: DiffSide
    new: DiffSide
    moves: dict[str, MovedBand]
    added: tuple[AddedSamples, ...]
    superseded: tuple[AddedEntry, ...]
    dirty: tuple[str, ...]
    unknown_commits: tuple[str, ...]
    unverified: tuple[str, ...]


class DiffAnswer(Answer):
    """What a working tree does to references. problems: what is no appending. others: what else changed beside samples."""

    verb: Literal["reference diff"] = "reference diff"
    commit: str
    base: str
    problems: tuple[str, ...]
    profiles: tuple[ChangedProfile, ...]
    others: tuple[str, ...]


class CastVote(Part):
    """How a voter stands: its largest relative distance, and in which tensor that is."""

    version: str
    agrees: bool
    largest: float
    case: str
    tensor: str


class GoldenAnswer(Answer):
    """The votes by voter, and the tape; path: null where one left the others: nothing was saved. directory: of their answers."""

    verb: Literal["golden"] = "golden"
    recipe: Identity
    votes: dict[str, CastVote]
    path: str | None
    cases: int
    directory: str


class ListedProfile(Part):
    """A profile. hash: under which its results are kept."""

    name: str
    description: str
    hash: str
    is_default: bool


class ListedRecipe(Part):
    """A recipe that can be reproduced."""

    name: str
    version: int
    description: str
    metric: str
    unit: str
    profiles: tuple[ListedProfile, ...]
    targets: tuple[PublishedTarget, ...]


class RecipesAnswer(Answer):
    """What there is in recipes/. problems: of those that cannot be read."""

    verb: Literal["recipes"] = "recipes"
    recipes: tuple[ListedRecipe, ...]
    problems: tuple[str, ...]


class CheckedRecipe(Part):
    """A recipe as it was asked for. problem: what is wrong with it; all else is null then."""

    asked: str
    name: str | None
    version: int | None
    hashes: dict[str, str] | None
    problem: str | None


class CheckAnswer(Answer):
    """Every recipe that was asked for, in that order."""

    verb: Literal["check"] = "check"
    recipes: tuple[CheckedRecipe, ...]


class MadeDataSet(Part):
    """A data set that was made. data: what a recipe asks for it by; model: what its model must say of it."""

    path: str
    data: dict[str, str | int]
    model: dict[str, Any]


class DataImportAnswer(Answer):
    """The set of `data import`. classes: their names; of a text none. shared: test images that are training images, too."""

    verb: Literal["data import"] = "data import"
    made: MadeDataSet
    classes: tuple[str, ...]
    shared: int | None


class SplitCounts(Part):
    """What became of a split's images and instances."""

    images: int
    instances: int
    crowds: int
    crowds_left_out: int
    vanished: int
    beyond_the_most: int
    images_beyond_the_most: int
    images_left_out: int
    turned: int


class CocoImportAnswer(Answer):
    """The set of `coco import`, and what was left out of it."""

    verb: Literal["coco import"] = "coco import"
    made: MadeDataSet
    classes: tuple[str, ...]
    shared: int
    splits: dict[str, SplitCounts]


class ExportedSplit(Part):
    """A split that was written."""

    path: str
    images: int
    instances: int


class CocoExportAnswer(Answer):
    """The folder of `coco export`, by split."""

    verb: Literal["coco export"] = "coco export"
    splits: dict[str, ExportedSplit]


class CocoEvaluateAnswer(Answer):
    """The figures of recorded detections, `box_ap` to `mask_ar_large`, from 0 to 1; null where there is nothing to find."""

    verb: Literal["coco evaluate"] = "coco evaluate"
    path: str
    data: str
    images: int
    detections: int
    figures: dict[str, float | None]


class CocoDrawAnswer(Answer):
    """The picture of `coco draw`."""

    verb: Literal["coco draw"] = "coco draw"
    path: str
    images: int


class ListedEnvironment(Part):
    """The environment of a release. size: bytes. created, last_used: times in UTC."""

    key: str
    request: str
    framework: str
    version: str
    python: str
    pins: tuple[str, ...]
    size: int
    created: str
    last_used: str


class EnvListAnswer(Answer):
    """The environments in the cache."""

    verb: Literal["env list"] = "env list"
    directory: str
    environments: tuple[ListedEnvironment, ...]


class EnvBuildAnswer(Answer):
    """The environment that was built, or found."""

    verb: Literal["env build"] = "env build"
    key: str
    request: str
    framework: str
    version: str
    pins: tuple[str, ...]
    python: str


class PrunedEnvironment(Part):
    """What became of an environment. request: null of one that was torn. freed: bytes; none of one that is in use."""

    key: str
    request: str | None
    freed: int
    in_use: bool


class EnvPruneAnswer(Answer):
    """What was removed, or is in use. compiled: bytes of programs that were freed, by what they were compiled for."""

    verb: Literal["env prune"] = "env prune"
    environments: tuple[PrunedEnvironment, ...]
    compiled: dict[str, int]
    left: int


class SyncedDirectory(Part):
    """What became of a directory with a document. outcome: uploaded, already in MLflow, skipped or failed."""

    directory: str
    outcome: str
    remark: str


class SyncAnswer(Answer):
    """What was brought to MLflow. counts: by outcome, `not tried` too. nights: remarks on nights that could not be."""

    verb: Literal["sync"] = "sync"
    directory: str
    counts: dict[str, int]
    tried: tuple[SyncedDirectory, ...]
    nights: tuple[str, ...]


class ReportAnswer(Answer):
    """The site that was written."""

    verb: Literal["report"] = "report"
    index: str
    pages: int
    cells: int
    remarks: tuple[str, ...]
