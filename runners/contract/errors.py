"""What a runner raises on purpose. `category` is the word that goes into the `failed` event."""

import zipfile
import zlib

# What numpy and zipfile raise for a damaged .npz file, caught together. It is a RuntimeError where a flipped bit names an
# encryption, or a compression that zipfile does not have (tests/verify/test_golden.py plants both); an OSError where it names
# another one; and one of the last three where a header's shape is none.
DAMAGED_ARCHIVE = (
    ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, OSError, MemoryError, OverflowError, TypeError,
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


class NanDetections(ContractError):
    """What a detector found is not finite."""

    category = "nan_detections"


class Unsupported(ContractError):
    """The framework cannot offer this context; the message is the reason."""

    category = "unsupported"
