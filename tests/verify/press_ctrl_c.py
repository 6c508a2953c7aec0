"""`python -m tests.verify.press_ctrl_c STAGE RECIPE LATE`: `vigil golden` of a tape that would take days, and Ctrl-C at a stage.

Prints the numbers of all processes that were there when it was pressed, and of the runner's, 0 where none had started.
"""

import os
import signal
import sys

import psutil

import vigil.cli.golden as verb
from vigil.cli.main import main
from vigil.progress import StageDisplay
from vigil.verify import golden

# What a shell starts in the background ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
golden.MARGIN_DRAWS = golden.FULL_DRAWS = 10**6
stage, recipe, late = sys.argv[1:]
pressed, runner = False, 0
there: list[psutil.Process] = []


def press(where: str) -> None:
    """Send this process what a terminal does, once."""
    global pressed
    if where == stage and not pressed:
        pressed = True
        there.extend(psutil.Process().children(recursive=True))
        os.kill(os.getpid(), signal.SIGINT)


def told(display: StageDisplay, what: str, done: int, total: int) -> None:
    """Take the place of what is shown."""
    press(what)


def heard(progress: verb._VoteProgress, event: dict) -> None:
    """Take the place of what is shown of a runner."""
    global runner
    if event["kind"] == "started":
        runner = event["pid"]
        press("a runner starts")


StageDisplay.progress, verb._VoteProgress.__call__ = told, heard
verb.is_installed = lambda name: name == "torch"
code = main(["golden", recipe, "--profile", "smoke", "--late", late])
print(runner, *(process.pid for process in there))
sys.exit(code)
