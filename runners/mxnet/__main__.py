"""`python -m runners.mxnet --batch-norm RUN_DIR`: MXNet's public batch norms. It trains nothing, so that this is all it does."""

import sys

from runners.contract.audit import batch_norm
from runners.contract.protocol import launch


def _batch_norm() -> batch_norm.Framework:
    from runners.mxnet.batch_norms import FRAMEWORK

    return FRAMEWORK


if __name__ == "__main__":
    if sys.argv[1:2] != [batch_norm.OPTION]:
        sys.exit(f"usage: python -m runners.mxnet {batch_norm.OPTION} RUN_DIR")
    launch.leave(batch_norm.main("mxnet", _batch_norm, sys.argv[2:]))
