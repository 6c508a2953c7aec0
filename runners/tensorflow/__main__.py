"""`python -m runners.tensorflow RUN_DIR`: train the run that RUN_DIR/spec.json describes, or answer its cases."""

import sys

from runners.contract.protocol import host, launch


def _run(session) -> None:
    # Imported here, so that a framework that fails to import ends in a `failed` event of phase `import`.
    if session.spec.task == "verify":
        from runners.tensorflow.verify import verify

        verify(session)
    else:
        from runners.tensorflow.train import train

        train(session)


def _prepare() -> None:
    """Import all that a host's forks need."""
    import runners.tensorflow.train
    import runners.tensorflow.verify  # noqa: F401


if __name__ == "__main__":
    if sys.argv[1:2] == [host.OPTION]:
        host.main(sys.argv[2:], prepare=_prepare)
    launch.leave(launch.main("tensorflow", _run, sys.argv[1:]))
