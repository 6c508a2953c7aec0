"""`python -m runners.torch RUN_DIR`: train the run that RUN_DIR/spec.json describes, or answer its cases.

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
        from runners.torch.verify import verify

        verify(session)
    else:
        from runners.torch.train import train

        train(session)


def _own() -> frame.Framework:
    from runners.torch.step import FRAMEWORK

    return FRAMEWORK


def _operator() -> operators.Framework:
    from runners.torch.operator import FRAMEWORK

    return FRAMEWORK


def _audit() -> audit.Framework:
    from runners.torch.audit import FRAMEWORK

    return FRAMEWORK


def _batch_norm() -> batch_norm.Framework:
    from runners.torch.batch_norms import FRAMEWORK

    return FRAMEWORK


def _prepare() -> None:
    """Import all that a host's forks need."""
    import torch._dynamo  # noqa: F401  800 modules that an optimizer imports when it is made, compiled or not

    import runners.torch.train
    import runners.torch.verify  # noqa: F401


if __name__ == "__main__":
    if sys.argv[1:2] == [host.OPTION]:
        host.main(sys.argv[2:], prepare=_prepare)
    if sys.argv[1:2] == [frame.OPTION]:
        launch.leave(frame.main("torch", _own, sys.argv[2:]))
    if sys.argv[1:2] == [operators.OPTION]:
        launch.leave(operators.main("torch", _operator, sys.argv[2:]))
    if sys.argv[1:2] == [audit.OPTION]:
        launch.leave(audit.main("torch", _audit, sys.argv[2:]))
    if sys.argv[1:2] == [batch_norm.OPTION]:
        launch.leave(batch_norm.main("torch", _batch_norm, sys.argv[2:]))
    launch.leave(launch.main("torch", _run, sys.argv[1:]))
