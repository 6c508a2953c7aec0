"""`python -m tests.verify.press_ctrl_c STAGE RECIPE LATE`: `vigil golden` of a tape that would take days, and Ctrl-C at a stage.

Prints how many operations the oracle made after that, and the number of the runner's process, 0 where none had started.
"""

import itertools
import os
import signal
import sys

import vigil.cli.golden as verb
from vigil.cli.main import main
from vigil.progress import StageDisplay
from vigil.verify import golden
from vigil.verify.oracle.rounding import Rounding

# What a shell starts in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
golden.MARGIN_DRAWS = golden.FULL_DRAWS = 10**6
stage, recipe, late = sys.argv[1:]
pressed, runner = False, 0
after = itertools.count()


def press(where: str) -> None:
    """Send this process what a terminal does, once."""
    global pressed
    if where == stage and not pressed:
        pressed = True
        os.kill(os.getpid(), signal.SIGINT)


def counted(method):
    """Return a method of Rounding that counts from the moment on."""

    def count(*arguments, **options):
        if pressed:
            next(after)
        return method(*arguments, **options)

    return count


def told(display: StageDisplay, what: str, done: int, total: int) -> None:
    """Take the place of what is shown."""
    press(what)


def heard(progress: verb._VoteProgress, event: dict) -> None:
    """Take the place of what is shown of a runner."""
    global runner
    if event["kind"] == "started":
        runner = event["pid"]
        press("a runner starts")


Rounding.activation, Rounding.master = counted(Rounding.activation), counted(Rounding.master)
StageDisplay.progress, verb._VoteProgress.__call__ = told, heard
verb.is_installed = lambda name: name == "torch"
code = main(["golden", recipe, "--profile", "smoke", "--late", late])
print(next(after), runner)
sys.exit(code)
