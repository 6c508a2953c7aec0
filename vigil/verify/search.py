"""What is searched when tensors are out, and what is found: the origin."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from vigil.verify.ask import Answers, Setting
from vigil.verify.cases import Case, training_for
from vigil.verify.compare import Difference
from vigil.verify.golden import Golden
from vigil.verify.layers import Place
from vigil.verify.limits import Limits
from vigil.verify.oracle import step as oracle


@dataclasses.dataclass(frozen=True)
class Origin:
    """The first wrong tensor: where it is made, how far it is off, and what that looks like.

    is_certain: beyond what a verdict accepts. Where an origin is sought, limits are narrower, and one in a thousand right
        layers is beyond them.
    """

    place: Place
    tensor: str
    case: str
    ratio: float
    slope: float
    remark: str = ""
    is_certain: bool = True

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self.place), **{key: value for key, value in vars(self).items() if key != "place"}}


@dataclasses.dataclass(frozen=True)
class Search:
    """What is searched: a context's answers, and which of their tensors are out."""

    setting: Setting
    tape: Golden
    limits: Limits
    answers: Answers
    out: Sequence[Difference]
    on_event: Callable[[dict], None]

    @property
    def precision(self) -> str:
        return self.setting.context.precision

    @property
    def readers(self) -> dict[str, list[str]]:
        probe, case = self.tape.probes["init"], self.case("init/margin")
        return oracle.readers(training_for(case, self.tape.training), probe.state, probe.margin)

    def case(self, name: str) -> Case:
        return next(case for case in self.tape.cases if case.name == name)


def make_origin(difference: Difference, place: Place) -> Origin:
    return Origin(place, difference.tensor, difference.case, difference.ratio, difference.slope, difference.problem or "")
