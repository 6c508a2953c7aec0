"""`python -m vigil` is the same as the command `vigil`."""

import sys

from vigil.cli.main import main

sys.exit(main())
