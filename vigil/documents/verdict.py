"""Every word that a run, a verification or an invocation can end with, what it means, and its exit code."""

from __future__ import annotations

from vigil.documents.word import Word
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, EXIT_UNKNOWN


class Verdict(Word):
    """How something ended. It is its own text, in documents, tables and messages."""

    REPRODUCED = "reproduced"
    RAN = "ran"
    REGRESSED = "regressed"
    BETTER = "better-than-reference"
    KNOWN_FINDING = "known-finding"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    FAILED_NAN_LOSS = "failed:nan_loss"
    FAILED_NAN_STATE = "failed:nan_state"
    FAILED_NAN_METRIC = "failed:nan_metric"
    FAILED_NAN_DETECTIONS = "failed:nan_detections"
    FAILED_OUT_OF_MEMORY = "failed:out_of_memory"
    FAILED_DATA = "failed:data"
    FAILED_FAULT = "failed:fault"
    FAILED_INTERRUPTED = "failed:interrupted"
    FAILED_CRASH = "failed:crash"
    FAILED_DIED = "failed:died"
    FAILED_HANG = "failed:hang"
    FAILED_COULD_NOT_START = "failed:could_not_start"
    FAILED_ENVIRONMENT = "failed:environment"
    FAILED_DETECTIONS = "failed:detections"
    FAILED_PROGRAM = "failed:program"

    @classmethod
    def of_failure(cls, category: str) -> Verdict:
        """Return the verdict on a run that failed or was refused. Raises ValueError for a category that there is not."""
        return cls.UNSUPPORTED if category == "unsupported" else cls(f"failed:{category}")

    @property
    def is_failed(self) -> bool:
        """Did it crash, hang or not start? That is neither a mismatch nor a pass."""
        return self.startswith("failed:")

    @property
    def is_not_finite(self) -> bool:
        """Did training meet a number that is not finite? The step at which it did can be replayed."""
        return self in (Verdict.FAILED_NAN_LOSS, Verdict.FAILED_NAN_STATE)

    @property
    def is_outside(self) -> bool:
        """Is a number outside its band? An unexplained improvement is, too."""
        return self in (Verdict.REGRESSED, Verdict.BETTER)

    @property
    def is_judged(self) -> bool:
        """Was a number held against a band?"""
        return self in (Verdict.REPRODUCED, Verdict.RAN) or self.is_outside

    @property
    def is_undecided(self) -> bool:
        """Did it run, and could nothing be told from it? That is neither a mismatch nor a pass."""
        return self in (Verdict.UNKNOWN, Verdict.RAN)

    @property
    def is_wrong_step(self) -> bool:
        """Is a training step wrong? One with a known finding is."""
        return self in (Verdict.REGRESSED, Verdict.KNOWN_FINDING)

    def after_step(self, step: Verdict) -> Verdict:
        """Return the verdict on runs whose metric has this one, when the verification of one training step has that.

        A step that is wrong, or whose verification crashed, takes `reproduced`, `ran` and `unknown` back.
        """
        if self is not Verdict.REPRODUCED and not self.is_undecided:
            return self
        if step.is_wrong_step:
            return Verdict.REGRESSED
        return step if step.is_failed else self

    @property
    def exit_code(self) -> int:
        """Return 0 reproduced, 1 outside the band or a wrong step, 3 could not run, 4 unknown or ran."""
        if self is Verdict.REPRODUCED:
            return EXIT_REPRODUCED
        if self.is_undecided:
            return EXIT_UNKNOWN
        return EXIT_OUTSIDE if self.is_outside or self.is_wrong_step else EXIT_COULD_NOT_RUN
