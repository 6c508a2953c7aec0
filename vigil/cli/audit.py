"""`vigil audit`: every public function of a release that Vigil has a definition of, held to it in float64."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from reports.audit_text import audit_block, coverage_block
from vigil.audit.batch_norm import NAME
from vigil.audit.definitions import catalog
from vigil.audit.entry import PRECISIONS, Entry
from vigil.audit.known import known_calls
from vigil.audit.limits import audit_limits
from vigil.audit.sweep import USUAL_MODES, Extent, audit, covered
from vigil.cli import batch_norm, options, own_step
from vigil.cli.answers import CoverageAnswer
from vigil.documents.audit import Audit
from vigil.documents.context import MODES
from vigil.errors import UsageError, nearest
from vigil.paths import runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.side_by_side import available_cores
from vigil.progress import StageDisplay
from vigil.steps.processes import Started
from vigil.steps.verify import new_own_directory
from vigil.terminal import answered
from vigil.tracking import upload_or_note

EXIT_CODES = (
    "exit codes: 0 reproduced, 1 a call computes what it should not (known findings too), 2 wrong usage, "
    "3 could not run, or a call raises an error, 4 unknown"
)

# Frameworks whose arrays may be cut over devices within one process, and how many of these a CPU is made to show.
_CUTS = ("jax",)
_MOST_DEVICES = 8


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "audit",
        help="public functions of a release against definitions in float64",
        description="Hold public functions, layers, losses, optimizers and helpers of a framework to definitions in float64, "
        "forward and backward.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "what",
        nargs="*",
        metavar="NAME",
        help=f"operators or families (default: all; `--list` names them); or {NAME}: who does what, as a table",
    )
    parser.add_argument("--framework", metavar="NAME", help=f"one of {', '.join(USUAL_MODES)}; with {NAME} mxnet too")
    parser.add_argument(
        "--calls", action="append", metavar="PATTERN", help="only public names like it, as 'torch.nn.*' (repeatable)"
    )
    parser.add_argument("--mode", metavar="M,N", help="eager, jit, compile (default: as the framework is used)")
    parser.add_argument("--precision", metavar="P,Q", help=f"some of {', '.join(PRECISIONS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="the sizes that find most, in fp32: minutes")
    parser.add_argument("--device", metavar="DEVICE", help="cpu, or gpu for calls of torch and jax (default: cpu)")
    parser.add_argument(
        "--devices", metavar="N", help="cut the arguments of each call over so many devices, along each axis; jax (default: 1)"
    )
    parser.add_argument("--threads", metavar="N", help="threads of the framework (default: 1, and 2 for the largest arrays)")
    parser.add_argument(
        "--jobs", metavar="N", help="processes side by side, each with its part of the operators (default: as many as cores)"
    )
    parser.add_argument("--seed", metavar="N", help="of all arguments (default: 0)")
    parser.add_argument("--list", action="store_true", help="list the operators by family, and end")
    parser.add_argument("--coverage", action="store_true", help="show which public names are audited, and which are not")
    parser.add_argument("--python", metavar="PATH", help="the interpreter of an environment that has the framework")
    options.add_release(parser)
    options.add_fault(parser)
    options.add_timeouts(parser)
    options.add_file(parser, "--markdown", what=f"with {NAME}: write the table")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit, show what was found, return 0 reproduced, 1 wrong, 3 could not run, 4 unknown."""
    if NAME in arguments.what:
        return batch_norm.run(arguments)
    if arguments.markdown:
        raise UsageError(f"--markdown: allowed with {NAME} alone.")
    entries = _chosen(catalog(), arguments.what)
    if arguments.list:
        answered(_listed(entries))
        return 0
    release = options.release_of_context(arguments)
    options.require_framework_named(arguments)
    if arguments.coverage and arguments.what:
        raise UsageError("--coverage: found with names of operators. Allowed: alone, since it is of all of them.")
    framework = arguments.framework
    if framework not in USUAL_MODES:
        raise UsageError(
            f"--framework: found {framework!r}. Allowed: {', '.join(USUAL_MODES)}.{nearest(framework, list(USUAL_MODES))}"
        )
    if release and arguments.python:
        raise UsageError("--python: found with --release, which has an interpreter of its own. Allowed: one of the two.")
    devices = options.whole_number("--devices", arguments.devices or "1", least=1, most=_MOST_DEVICES)
    if framework == "tensorflow" and own_step.device_from(arguments) != "cpu":
        raise UsageError("--device: found gpu. Allowed: cpu for calls of tensorflow; gpu for those of torch and jax.")
    modes = [USUAL_MODES[framework]] if arguments.mode is None else options.names("--mode", arguments.mode, MODES)
    if devices > 1 and (framework not in _CUTS or own_step.device_from(arguments) != "cpu" or "eager" in modes):
        raise UsageError(
            f"--devices: found {devices}. Allowed: 1; more on the CPU, in modes jit and compile, for {', '.join(_CUTS)}."
        )
    extent = Extent(
        entries=entries,
        ways=arguments.calls or ("*",),
        is_whole=not arguments.what,
        modes=modes,
        precisions=[] if arguments.precision is None else options.names("--precision", arguments.precision, PRECISIONS),
        is_quick=arguments.quick,
        threads=options.whole_number("--threads", arguments.threads, least=1, most=1024) if arguments.threads else None,
        device=own_step.device_from(arguments),
        devices=devices,
        seed=options.whole_number("--seed", arguments.seed or "0", least=0),
    )
    most = max(1, len(available_cores()) // (extent.threads or 1))
    jobs = options.whole_number("--jobs", arguments.jobs or str(most), least=1)
    limits, known = audit_limits(), known_calls()
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        python, recorded = own_step.environment_of(arguments, framework, stack, display)
        started = Started(
            framework=framework,
            python=python,
            fault=fault_entry(arguments.fault),
            progress_timeout=options.seconds("--hang-timeout", arguments.hang_timeout),
            progress=display.progress,
        )
        if arguments.coverage:
            coverage = covered(started, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            options.write_json(arguments, CoverageAnswer(exit_code=0, framework=framework, coverage=coverage))
            answered(coverage_block(coverage))
            return 0
        directory = new_own_directory(runs_directory(), Path(framework), "audit")
        audit(
            started,
            extent,
            directory,
            limits,
            known,
            command=arguments.command,
            release=recorded,
            jobs=jobs,
            tell=display.say,
        )
    upload_or_note(directory)
    document = Audit.read(directory)  # with where in MLflow it is
    options.write_json(arguments, document)
    answered(audit_block(document, directory=str(directory)))
    return document.exit_code


def _chosen(entries: dict[str, Entry], names: list[str]) -> list[Entry]:
    """Return the entries of these operators and families. Raises UsageError for a name that there is not."""
    families = {entry.family for entry in entries.values()}
    for name in names:
        if name not in entries and name not in families:
            raise UsageError(
                f"{name}: no such operator or family.{nearest(name, [*entries, *families])} Allowed: families "
                f"{', '.join(sorted(families))}, and operators, which `vigil audit --list` names."
            )
    return [entry for entry in entries.values() if not names or {entry.name, entry.family} & set(names)]


def _listed(entries: list[Entry]) -> str:
    families: dict[str, list[str]] = {}
    for entry in entries:
        families.setdefault(entry.family, []).append(entry.name)
    return "\n".join(f"{family} ({len(names)}): {', '.join(names)}" for family, names in families.items())
