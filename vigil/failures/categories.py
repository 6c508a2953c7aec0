"""The categories of failures, a row each.

Twenty are those of program failures, in the four dimensions of Zhang et al., "An Empirical Study on Program Failures of Deep
Learning Jobs", ICSE 2020, doi:10.1145/3377811.3380362. Its fifteen of environment, data and code are known here by a summary that
others published; the five that are special to deep learning are derived, for the study's own list of these was not at hand. The
study is of programs: what a system does to them (`SYSTEM`) is beside the twenty.
"""

from __future__ import annotations

import dataclasses

ENVIRONMENT, DATA, CODE, LEARNING, SYSTEM = "environment", "data", "code", "deep learning", "system"
UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Category:
    """A sort of failure.

    name: in plain words. repeats: does the same input fail the same way? prior: (a, b) of the Beta distribution of the chance
    that another try helps, before any was seen: a tries that helped among a + b.
    """

    key: str
    dimension: str
    name: str
    advice: str
    repeats: bool = True
    prior: tuple[float, float] = (0.5, 49.5)

    @property
    def is_of_program(self) -> bool:
        """Does it stay until a program changes? What is wrong with a machine or data may be mended beside it."""
        return self.dimension == CODE or self.key in ("tensor_mismatch", "framework_api_misuse")


_EVEN, _ONE_IN_FOUR, _ONE_IN_TEN, _ONE_IN_TWENTY = (1.0, 1.0), (0.5, 1.5), (0.2, 1.8), (0.2, 3.8)
_TABLE = (
    Category(
        "path_not_found",
        ENVIRONMENT,
        "path not found",
        "Look whether the file or folder that the line names is there, on the machine that runs it; make the folder first if it "
        "is one to write to.",
    ),
    Category(
        "library_not_found",
        ENVIRONMENT,
        "library not found",
        "Install the module or library that the line names, in the environment that runs it, in a version that has what is "
        "asked for.",
    ),
    Category(
        "permission_denied",
        ENVIRONMENT,
        "permission denied",
        "Give the user that runs it the right to what the line names, or name a place that it may write to.",
    ),
    Category(
        "corrupt_data",
        DATA,
        "corrupt data",
        "Fetch or write the file anew, and hold it to a checksum: it is cut off, damaged, or not in the form that is expected.",
    ),
    Category(
        "unexpected_encoding",
        DATA,
        "unexpected encoding",
        "Read the text with the encoding that it was written in, and name that: the default depends on the machine.",
    ),
    Category(
        "illegal_argument",
        CODE,
        "illegal argument",
        "Look at the call and the value that the line names: it is outside what the function accepts.",
    ),
    Category(
        "type_mismatch",
        CODE,
        "type mismatch",
        "Convert the object that the line names to the type that is expected.",
    ),
    Category(
        "key_not_found",
        CODE,
        "key not found",
        "Compare the key that the line names with the keys that are there: a name was changed, or an entry is missing.",
    ),
    Category(
        "null_reference",
        CODE,
        "null reference",
        "Find where the value was to come from: None was returned or left, and used as if it were something.",
    ),
    Category(
        "attribute_not_found",
        CODE,
        "attribute not found",
        "Look for the name in the documentation of the release that is installed: it is misspelt, was removed, or never set.",
    ),
    Category("syntax_error", CODE, "syntax error", "Mend the line: Python cannot read it, or is another version."),
    Category(
        "illegal_index",
        CODE,
        "illegal index",
        "Compare the index with the size that the line names: labels, tokens or rows reach beyond it.",
    ),
    Category(
        "undefined_variable", CODE, "undefined variable", "Assign the name before it is used: it is misspelt, or never set."
    ),
    Category(
        "not_implemented",
        CODE,
        "not implemented",
        "Use what is implemented for this type and device, or write the method that is missing.",
    ),
    Category(
        "division_by_zero", CODE, "division by zero", "Look why the divisor is zero: an empty data set, or a count of none."
    ),
    Category(
        "out_of_memory",
        LEARNING,
        "out of memory",
        "Of a device: smaller batches, or lower precision. Of the machine: fewer loader workers, or fewer jobs side by side.",
        repeats=False,
        prior=_ONE_IN_FOUR,
    ),
    Category(
        "tensor_mismatch",
        LEARNING,
        "tensor mismatch",
        "Compare the shapes, types and devices that the line names with what the layer or operator takes.",
    ),
    Category(
        "framework_api_misuse",
        LEARNING,
        "framework API misuse",
        "Read what the framework's documentation says of the call in the line: the order of calls, or what it is called on, is "
        "not allowed.",
    ),
    Category(
        "loss_nan",
        LEARNING,
        "loss not finite",
        "Look at the step where it first was infinite or NaN: learning rate, logarithms and divisions, input data, loss scale.",
    ),
    Category(
        "device_unavailable",
        LEARNING,
        "device unavailable",
        "Look at the driver, the build of the framework and which devices are visible: the one that is asked for is not there.",
    ),
    Category(
        "disk_full",
        SYSTEM,
        "disk full",
        "Free space, or write to another disk; a quota or a limit on file size counts too.",
        repeats=False,
        prior=_ONE_IN_TEN,
    ),
    Category(
        "network_unreachable",
        SYSTEM,
        "network unreachable",
        "Look whether the host and port that the line names answer from this machine; fetch data before the job.",
        repeats=False,
        prior=_EVEN,
    ),
    Category(
        "hang",
        SYSTEM,
        "no progress",
        "Look what it waited for: a lock, a worker that is gone, or a peer that never came.",
        repeats=False,
        prior=_ONE_IN_FOUR,
    ),
    Category(
        "killed",
        SYSTEM,
        "ended from outside",
        "Ask who ended it: a scheduler's time limit, a preemption, an operator, or the kernel for memory.",
        repeats=False,
        prior=_EVEN,
    ),
    Category(
        "native_crash",
        SYSTEM,
        "crash in native code",
        "Run it again with `python -X faulthandler`; look at extensions and versions that do not fit each other.",
        repeats=False,
        prior=_ONE_IN_FOUR,
    ),
    Category(
        UNKNOWN,
        UNKNOWN,
        "unknown",
        "Read the log: nothing in it decides.",
        repeats=False,
        prior=_ONE_IN_TWENTY,
    ),
)
CATEGORIES = {category.key: category for category in _TABLE}
OF_THE_STUDY = tuple(category for category in _TABLE if category.dimension not in (SYSTEM, UNKNOWN))
