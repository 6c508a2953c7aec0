"""`python -m runners.torch RUN_DIR`: train the run that RUN_DIR/spec.json describes, or answer its cases."""

import sys

from runners.contract.protocol import launch


def _run(session) -> None:
    # Imported here, so that a framework that fails to import ends in a `failed` event of phase `import`.
    if session.spec.task == "verify":
        from runners.torch.verify import verify

        verify(session)
    else:
        from runners.torch.train import train

        train(session)


if __name__ == "__main__":
    launch.leave(launch.main("torch", _run, sys.argv[1:]))
