"""`python -m runners.tensorflow RUN_DIR`: train the run that RUN_DIR/spec.json describes, or answer its cases.

With `--step`: what RUN_DIR/request.json asks of a user's own program; with `--operator`, of an operator.
With `--audit`: the public calls of the framework; with `--batch-norm`, its batch norms.
"""

import sys

from runners.contract.audit import batch_norm
from runners.contract.audit import frame as audit
from runners.contract.operators import frame as operators
from runners.contract.protocol import host, launch
from runners.contract.steps import frame


def _run(session) -> None:
    # Imported here, so that a framework that fails to import ends in a `failed` event of phase `import`.
    if session.spec.task == "verify":
        from runners.tensorflow.verify import verify

        verify(session)
    else:
        from runners.tensorflow.train import train

        train(session)


def _own() -> frame.Framework:
    from runners.tensorflow.step import FRAMEWORK

    return FRAMEWORK


def _operator() -> operators.Framework:
    from runners.tensorflow.operator import FRAMEWORK

    return FRAMEWORK


def _audit() -> audit.Framework:
    from runners.tensorflow.audit import FRAMEWORK

    return FRAMEWORK


def _batch_norm() -> batch_norm.Framework:
    from runners.tensorflow.batch_norms import FRAMEWORK

    return FRAMEWORK


def _prepare() -> None:
    """Import all that a host's forks need."""
    import runners.tensorflow.train
    import runners.tensorflow.verify  # noqa: F401


if __name__ == "__main__":
    if sys.argv[1:2] == [host.OPTION]:
        host.main(sys.argv[2:], prepare=_prepare)
    if sys.argv[1:2] == [frame.OPTION]:
        launch.leave(frame.main("tensorflow", _own, sys.argv[2:]))
    if sys.argv[1:2] == [operators.OPTION]:
        launch.leave(operators.main("tensorflow", _operator, sys.argv[2:]))
    if sys.argv[1:2] == [audit.OPTION]:
        launch.leave(audit.main("tensorflow", _audit, sys.argv[2:]))
    if sys.argv[1:2] == [batch_norm.OPTION]:
        launch.leave(batch_norm.main("tensorflow", _batch_norm, sys.argv[2:]))
    launch.leave(launch.main("tensorflow", _run, sys.argv[1:]))
