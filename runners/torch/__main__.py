"""`python -m runners.torch RUN_DIR`: train the run that RUN_DIR/spec.json describes."""

import sys

from runners.contract import launch


def _train(session) -> None:
    # Imported here, so that a framework that fails to import ends in a `failed` event of phase `import`.
    from runners.torch.train import train

    train(session)


if __name__ == "__main__":
    sys.exit(launch.main("torch", _train, sys.argv[1:]))
