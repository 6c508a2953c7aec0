"""Compare what a framework answered with what the oracle expects, tensor by tensor, so that nothing can hide.

Two views of each tensor: how far it is away, in units of its noise floor, and whether what is away has a direction. Rounding has
none: the slope of observed on expected is 1 and the intercept 0, to within what the floor's draws show. A wrong scale of 1 %
shows there under bf16, whose noise in any one tensor is 5 %.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from runners.contract.steps.measure import Line, line_of
from vigil.documents.verification import TensorDifference
from vigil.verify.floors import Floor

STATISTICS = ("distance", "slope", "intercept")
_NOT_FINITE = "not finite"
Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Difference:
    """How one tensor differs.

    ratio: distance to the expected tensor over the noise floor; infinite where nothing is comparable.
    slope, intercept: of observed on expected; `slope_z` and `intercept_z`: how many deviations of rounding they are off.
    problem: why the tensors cannot be compared, or None.
    floor: what rounding does to the tensor.
    family: what the tensor is, whichever layer it belongs to; the group that its name begins with, if nothing else is said.
    """

    case: str
    tensor: str
    ratio: float
    slope: float
    intercept: float
    slope_z: float
    intercept_z: float
    problem: str | None = None
    floor: Floor | None = dataclasses.field(default=None, repr=False, compare=False)
    family: str = dataclasses.field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.family or self.tensor.split("/")[0])

    @property
    def is_absent(self) -> bool:
        """Is there no tensor of that name and shape, so that nothing can be made of it?"""
        return self.problem is not None and not self.problem.endswith(_NOT_FINITE)

    def statistics(self) -> dict[str, float]:
        """Return what is held against limits, by name."""
        return {"distance": self.ratio, "slope": self.slope_z, "intercept": self.intercept_z}


def document_of(score: float, difference: Difference) -> TensorDifference:
    """Return a difference, with its score, as it stands in documents."""
    names = [name for name in TensorDifference.model_fields if name != "score"]
    return TensorDifference(**{name: getattr(difference, name) for name in names}, score=score)


def plain(tensor: str) -> str:
    """Return the name of a tensor without the call, or the piece of a trajectory, that it is of.

    >>> plain("49/momentum/head.bias"), plain("again/256/loss"), plain("params/head.bias")
    ('momentum/head.bias', 'loss', 'params/head.bias')
    """
    call, _, rest = tensor.removeprefix("again/").partition("/")
    return rest if call.isdigit() else tensor


def compare(
    case: str,
    observed: Tensors,
    expected: Tensors,
    floors: Mapping[str, Floor],
    *,
    family: Callable[[str], str] = lambda tensor: "",
) -> list[Difference]:
    """Return one difference for every expected tensor, in their order; what is missing or not finite is infinitely far."""
    differences = [_compare_one(case, name, observed.get(name), tensor, floors[name]) for name, tensor in expected.items()]
    return [dataclasses.replace(each, family=family(each.tensor)) for each in differences]


def _compare_one(case: str, name: str, observed: np.ndarray | None, expected: np.ndarray, floor: Floor) -> Difference:
    nowhere = (math.inf, math.nan, math.nan, math.inf, math.inf)
    if observed is None:
        return Difference(case, name, *nowhere, "missing")
    if np.shape(observed) != np.shape(expected):
        return Difference(case, name, *nowhere, f"shape {list(np.shape(observed))}, expected {list(np.shape(expected))}")
    observed = np.asarray(observed, np.float64)
    if not np.isfinite(observed).all():
        count = int(np.size(observed) - np.isfinite(observed).sum())
        return Difference(case, name, *nowhere, f"{count} of {np.size(observed)} values are {_NOT_FINITE}")
    if not np.isfinite(expected).all():  # the first of repeated calls, too, may be what is expected
        return Difference(case, name, *nowhere, f"the expected values are {_NOT_FINITE}")
    return difference_of(case, name, line_of(observed, expected), floor, size=np.size(expected))


def difference_of(case: str, name: str, line: Line | str, floor: Floor, *, size: int, family: str = "") -> Difference:
    """Return the difference of a tensor of so many elements from its line, or from the problem that left none."""
    if isinstance(line, str):
        return Difference(case, name, math.inf, math.nan, math.nan, math.inf, math.inf, line, family=family)
    distance, excess, intercept = line
    # One number has no direction: its slope would tell its distance once more.
    single = size < 2
    return Difference(
        case,
        name,
        _over(distance, floor.distance),
        1.0 + excess,
        intercept,
        0.0 if single else _deviations(excess, *floor.slope),
        0.0 if single else _deviations(intercept, *floor.intercept),
        floor=floor,
        family=family,
    )


def _deviations(value: float, mean: float, deviation: float) -> float:
    """Return how many deviations a value is from what draws of rounding have on average, or from none, and from all between.

    Draws of one tensor may have a mean that is not zero. A program that rounds less is nearer to zero, and one that does not
    round at all is right.
    """
    nearest = min(max(value, min(mean, 0.0)), max(mean, 0.0))
    return _over(abs(value - nearest), deviation)


def _over(value: float, floor: float) -> float:
    """Return value / floor; a floor of zero, where rounding moves nothing, lets nothing pass."""
    if math.isnan(value):
        return 0.0  # no line through a tensor of zeros: its distance says all
    if floor > 0 and not math.isnan(floor):
        return value / floor
    return math.inf if value > 0 else 0.0
