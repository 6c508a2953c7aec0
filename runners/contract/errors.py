"""What a runner raises on purpose. `category` is the word that goes into the `failed` event."""

import tokenize
import zipfile
import zlib

# What numpy and zipfile raise for a damaged .npz file, caught together. It is a RuntimeError where a flipped bit names an
# encryption, or a compression that zipfile does not have (tests/verify/test_golden.py plants both); an OSError where it names
# another one; and one of the next three where a header's shape is none. The last two are from a header that is no literal, which
# numpy takes apart as one of Python 2 (`python -m benchmarks.damage` has met one).
DAMAGED_ARCHIVE = (
    ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, OSError, MemoryError, OverflowError, TypeError,
    tokenize.TokenError, SyntaxError,
)  # fmt: skip


class ContractError(Exception):
    category = "crash"


class UnusableData(ContractError):
    """Data are missing, truncated or altered."""

    category = "data"


class FaultError(ContractError):
    """A planted fault could not be installed."""

    category = "fault"


class NanLoss(ContractError):
    """The training loss is not finite."""

    category = "nan_loss"


class NanState(ContractError):
    """The training state is not finite, although every loss was."""

    category = "nan_state"


class NanMetric(ContractError):
    """The metric that is judged is not finite, although every loss of the training was."""

    category = "nan_metric"


class NanDetections(ContractError):
    """What a detector found is not finite."""

    category = "nan_detections"


class Unsupported(ContractError):
    """The framework cannot offer this context; the message is the reason."""

    category = "unsupported"
