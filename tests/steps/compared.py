"""Parts of a comparison of two sides, for tests that need no process."""

from __future__ import annotations

from vigil.documents.context import make_context
from vigil.documents.step import Repeated, StepOrigin
from vigil.documents.step_comparison import ContextMoved, ExactMoved
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, TensorDifference

RIGHT, WRONG = Verdict.REPRODUCED, Verdict.REGRESSED
CRASHED, NOT_THERE, NOBODY_KNOWS = Verdict.FAILED_CRASH, Verdict.UNSUPPORTED, Verdict.UNKNOWN


def moved(tensor: str = "gradients/w", *, ratio: float = 2.0, case: str = "step", score: float = 0.4) -> TensorDifference:
    """Return how far a tensor of one side is from the other's."""
    return TensorDifference(
        case=case, tensor=tensor, ratio=ratio, slope=1.0, intercept=0.0, slope_z=0.0, intercept_z=0.0, problem=None, score=score
    )


def context(
    old: Verdict,
    new: Verdict,
    *,
    equal: int = 3,
    mode: str = "jit",
    results: tuple[int, int] = (1, 1),
    coarser: TensorDifference | None = None,
) -> ContextMoved:
    """Return a context with three tensors, of which so many are equal. results: different ones of each side's repeated calls."""
    repeated = [Repeated(calls=60, results=each) for each in results]
    said = {name: StepVerdict(name=name, reason=f"why {name}") for name in (old, new)}
    origin = StepOrigin(phase="backward", where="head", tensor="backward/0001/head/input", ratio=90.0)
    return ContextMoved(
        context=make_context(framework="torch", mode=mode),
        threads=1,
        old=said[old],
        new=said[new],
        tensors=3,
        equal=equal,
        farthest=moved(ratio=0.0 if equal == 3 else 2.0),
        old_origin=origin if old is Verdict.REGRESSED else None,
        new_origin=origin if new is Verdict.REGRESSED else None,
        old_repeated=repeated[0],
        new_repeated=repeated[1],
        coarser=coarser,
    )


def exact(**changes: object) -> ExactMoved:
    """Return two programs that are the same, but for what is said."""
    same = ExactMoved(
        precision="fp32", batches=(), moved=(), unmatched=(), tensors=3, farthest=moved(ratio=1e-9), updated=None,
        is_same=True, remark=None,
    )  # fmt: skip
    return same.replace(**changes)


ELSEWHERE = moved("loss", ratio=80.0, score=30.0)
GONE = ELSEWHERE.replace(problem="missing")
