"""The `verdict` object of invocation.json: what the metric of one or more runs is worth beside the reference."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from runners.contract.kinds.table import kind_of
from vigil.documents.document import Number, Part
from vigil.documents.failure import Triage
from vigil.documents.verdict import Verdict

NOT_JUDGED = "not judged"


class Metric(Part):
    """What a recipe is judged by.

    selection: of which evaluation of a run, the last or the best. chance: what a model gives that has learned nothing, on a run's
    data; None in documents from before it was recorded.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("chance",)

    unit: str
    direction: Literal["higher", "lower"]
    selection: str
    name: str
    chance: float | None = None

    @classmethod
    def of(cls, training: dict[str, Any]) -> Metric:
        """Return the metric of a recipe's resolved content."""
        return cls.model_validate({**training["metric"], "chance": kind_of(training).chance(training, None)})

    def learned(self, mean: float) -> float | None:
        """Return by how much a mean is better than chance, in the metric's unit; None where chance is not known."""
        if self.chance is None:
            return None
        return mean - self.chance if self.direction == "higher" else self.chance - mean


class SeedValue(Part):
    """The metric of one run, and the verdict of the band for one run. `not judged`: beside a run that failed."""

    seed: int
    value: float | None
    verdict: Verdict | Literal["not judged"]


class MeanBand(Part):
    """The band of the mean of several runs."""

    low: float
    high: float
    method: str
    coverage: float
    n: int
    mean: float
    spread: float
    spread_floor: float
    n_effective: float
    degrees_of_freedom: float


class RunBand(MeanBand):
    """The band of one run, with the samples that it is made of."""

    n_seeds: int
    frameworks: tuple[str, ...]
    dates: tuple[str, ...]


class JudgingBand(Part):
    """What further runs of a context are held against, whatever they turn out to be; or the reason why there is nothing.

    band: of a verdict on one run. catches: by number of runs, 1 and 3, the `detectable_drop` of a verdict on so many.
    """

    band: RunBand | None
    reason: str | None
    catches: dict[int, float | None]


class WelchTest(Part):
    """Welch's test of several runs against the reference's, and the interval of the difference."""

    difference: float
    standard_error: float
    degrees_of_freedom: float
    p_value: float
    low: float
    high: float


class SequentialLook(Part):
    """The evidence after one more run."""

    seed: int
    n: int
    difference: float
    e_value: Number


class SequentialEvidence(Part):
    """Seeds added until the evidence decides: what it said after each run."""

    decision: str | None
    alpha: float
    beta: float
    delta: float
    effect: float
    planned: int
    p_value: float
    looks: tuple[SequentialLook, ...]


class ExactOutcome(Part):
    """What came out where a published value is to come out digit for digit."""

    metric: str
    seed: int
    value: Number


class JudgedTarget(Part):
    """A published value beside ours. exact: where it is to come out digit for digit; the verdict stands on that then."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("exact",)

    value: float
    published_as: str | None
    source: str | None
    link: str | None
    judged: bool
    meets: bool | None
    tolerance: float | None
    reason: str
    exact: ExactOutcome | None = None


class RunFailure(Part):
    """The run that decided an invocation by failing or being refused."""

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("triage",)

    seed: int
    category: str
    phase: str
    step: int
    log_tail: tuple[str, ...]
    triage: Triage | None = None


class Judgement(Part):
    """The verdict on an invocation. `failure`: only after a failed or refused run.

    reference: the SHA-256 of each file of samples that was read, by its name below reference_results/.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("failure", "reference")

    name: Verdict
    reason: str
    metric: str
    unit: str
    direction: str
    values: tuple[SeedValue, ...]
    mean: float | None
    p_value: float | None
    band: RunBand | None
    mean_band: MeanBand | None
    welch: WelchTest | None
    sequential: SequentialEvidence | None
    detectable_drop: float | None
    power: float
    targets: tuple[JudgedTarget, ...]
    failure: RunFailure | None = None
    reference: dict[str, str] | None = None


def shown(value: float | None, unit: str, *, sign: str = "") -> str:
    """Return a metric's value as it is told: percent with two digits behind the point, anything else with six, - for none.

    >>> shown(88.5333, "percent"), shown(-0.5, "percent", sign="+"), shown(0.0428982, "nats")
    ('88.53', '-0.50', '0.042898')
    """
    return "-" if value is None else f"{value:{sign}.{2 if unit == 'percent' else 6}f}"
