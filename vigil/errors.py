"""Everything that Vigil raises on purpose, and the exit code of each.

VigilError                  3
|-- UsageError              2   a wrong option, name or value
|   `-- RecipeError         2   a recipe that cannot be read
`-- CannotRun               3   nothing wrong with the request, but it cannot be carried out here
    |-- FrameworkMissing    3   the framework is not installed
    |-- EnvironmentFailed   3   the packages of a release cannot be resolved, installed or imported
    |-- DataError           3   data are missing, truncated or altered
    `-- DirectoryError      3   a directory cannot be written, or the disk is full
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

EXIT_REPRODUCED = 0
EXIT_OUTSIDE = 1
EXIT_USAGE = 2
EXIT_COULD_NOT_RUN = 3
EXIT_UNKNOWN = 4


class VigilError(Exception):
    """An error with a message for a person and an exit code for a script."""

    exit_code = EXIT_COULD_NOT_RUN


class UsageError(VigilError):
    exit_code = EXIT_USAGE


class RecipeError(UsageError):
    pass


class CannotRun(VigilError):
    exit_code = EXIT_COULD_NOT_RUN


class FrameworkMissing(CannotRun):
    pass


class EnvironmentFailed(CannotRun):
    """No environment for a release: `log_tail` holds the installer's last lines.

    may_pass: another time it may be had, as with more room on the disk. is_final: it never will, since no set of packages fits.
    """

    def __init__(self, message: str, *, log_tail: Sequence[str] = (), may_pass: bool = False, is_final: bool = False) -> None:
        super().__init__("\n".join([message, *(f"    | {line}" for line in log_tail)]))
        self.reason, self.log_tail, self.may_pass, self.is_final = message, list(log_tail), may_pass, is_final


class DataError(CannotRun):
    pass


class DirectoryError(CannotRun):
    pass


def nearest(found: object, allowed: Iterable[object]) -> str:
    """Return ` Did you mean X?` for the allowed name nearest to `found`, or an empty string."""
    by_lower = {str(name).lower(): str(name) for name in allowed}
    matches = difflib.get_close_matches(str(found).lower(), by_lower, n=1, cutoff=0.5)
    return f" Did you mean {by_lower[matches[0]]}?" if matches else ""
