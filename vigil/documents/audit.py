"""audit.json: public calls of a framework, held to definitions in float64."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, ClassVar

from pydantic import Field

from vigil.documents.document import Document, Number, Part
from vigil.documents.failure import Failure
from vigil.documents.provenance import Environment, NamedRelease, PlantedFault, Tracking
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict


class AuditForm(Part):
    """One set of arguments: what is tried. Drawn anew from the seed, they are the same."""

    sizes: dict[str, int]
    parameters: dict[str, Any]
    precision: str
    layout: str
    values: str
    seed: int

    @property
    def text(self) -> str:
        """Return what is tried, in words."""
        said = [f"{name}={value}" for name, value in (self.sizes | self.parameters).items()] + [self.precision]
        return ", ".join([*said, *(each for each in (self.layout, self.values) if each not in ("plain", "given"))])


class AuditFinding(Part):
    """One thing that is wrong with a public call.

    kind: wrong (beyond its limit), raises, bits (equal calls gave other bits), moves (what it gave changes when it is called
    again), writes (it changes an argument), device (a default device that is set changes what it gives), died (of a signal;
    then `way` is None: which call it was is not known).
    quantity: `outputs/<place>`, `gradients/<argument>`, or of a derivative by another way (AuditDerivative): `forward/<place>`,
    `cotangent/<place>` (the gradient's by what it is pulled back from) or `second/<way>`.
    count: forms that show it, of so many. smallest: of them.
    ratio: how far it is off, in floors; limit: how far a correct one may be. index: of the worst element, empty where a
    gradient was held along a direction. problem: what no distance tells. known: the entry of the list that explains it.
    script: a file beside audit.json that shows it without Vigil.
    """

    operator: str
    way: str | None
    mode: str
    kind: str
    quantity: str | None
    precision: str
    count: int
    of: int
    smallest: AuditForm
    ratio: Number | None
    limit: Number | None
    index: tuple[int, ...]
    got: Number | None
    expected: Number | None
    problem: str
    known: str | None
    script: str | None


class AuditGap(Part):
    """Calls that were not held to anything: how many forms, and what the framework said.

    status: absent (the release has no such name), cannot (no such form), refused, raised (no derivative by
    a way: the framework says that it has none, or raises another error).
    """

    operator: str
    way: str
    mode: str
    status: str
    count: int
    message: str


class AuditDerivative(Part):
    """A way of deriving: of how many public calls it was asked, how many refused or raised an error, and gave a wrong number."""

    way: str
    calls: int
    refused: int
    raised: int
    wrong: int


class AuditProcess(Part):
    """One process: a mode, whether it computed in float64, and how many threads it had."""

    mode: str
    is_wide: bool
    threads: int = 1
    families: tuple[str, ...]
    failure: Failure | None
    environment: Environment
    directory: str
    seconds: float


class AuditCoverage(Part):
    """The public names of a namespace: how many there are, are audited, are gaps with a reason, and were looked at by nobody."""

    namespace: str
    names: int
    audited: int
    gaps: int
    unseen: tuple[str, ...]


class AuditFamily(Part):
    """One family of operators, by itself.

    operators: that were asked about. ways: public calls of them that were made. forms: how many sets of arguments were tried.
    worst_score: how far the farthest call was, in limits; None where nothing was held to any.
    """

    name: str
    operators: tuple[str, ...]
    ways: int
    forms: int
    worst_score: Number | None
    verdict: StepVerdict


class Audit(Document):
    """An audit of one framework.

    night: that made it. threads: the fewest of a process. seed: of all arguments. is_quick: the sizes that find most, in fp32.
    fixed: known findings that no longer show.
    worst: by operator, quantity and precision, how far the farthest call was, in floors: what limits are made of.
    families: none in audits from before they had verdicts of their own.
    """

    LEFT_OUT_WHEN_NONE: ClassVar[tuple[str, ...]] = ("tracking",)
    FILE_NAME: ClassVar[str] = "audit.json"

    schema_: int = Field(1, alias="schema")
    audit_id: str
    created: str
    command: str
    night: str | None = None
    framework: str
    framework_version: str | None
    release: NamedRelease | None
    fault: PlantedFault | None
    modes: tuple[str, ...]
    threads: int
    device: str = "cpu"
    devices: int = 1
    seed: int
    is_quick: bool
    verdict: StepVerdict
    operators: int
    ways: int
    forms: int
    kinks: int
    findings: tuple[AuditFinding, ...]
    fixed: tuple[str, ...]
    gaps: tuple[AuditGap, ...]
    derivatives: tuple[AuditDerivative, ...] = ()
    coverage: tuple[AuditCoverage, ...]
    worst: dict[str, dict[str, Number]]
    processes: tuple[AuditProcess, ...]
    limits: LimitFacts
    families: tuple[AuditFamily, ...] = ()
    seconds: float
    tracking: Tracking | None = None

    @property
    def exit_code(self) -> int:
        return Verdict(self.verdict.name).exit_code

    @property
    def when(self) -> datetime:
        """Return when it was written."""
        return datetime.fromisoformat(self.created).astimezone(timezone.utc)

    @property
    def place(self) -> str:
        """Return where calls were made, as words after the modes: nothing of one device of the CPU."""
        return " on a GPU" if self.device == "gpu" else f" over {self.devices} devices" if self.devices > 1 else ""
