"""Which planted faults verify catches, in which framework and mode, and whether it names the right origin.

    python -m benchmarks.faults --jobs 2 --markdown docs/faults.md     # every fault, framework and mode, fp32; eager in bf16 too
    python -m benchmarks.faults --recipe moco_lite --markdown docs/faults-moco_lite.md
    python -m benchmarks.faults --fault nesterov_for_plain --framework jax --mode jit

What runs/ holds already is not run again, so that an interrupted table goes on where it was; `--jobs 0` runs nothing and makes
the table of what there is. Each fault is a file in tests/faults/. It is caught when the verdict is `regressed`, and located when
the first origin is the layer, phase and quantity written down here beforehand.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import math
import statistics
import sys
import threading
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from runners.contract.protocol.faults import file_sha256
from vigil.documents.context import FRAMEWORKS, MODES, Context, make_context
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Origin, Verification
from vigil.paths import project_root, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.environment import describe_machine, installed_frameworks
from vigil.recipes.loading import identity_of, load_recipe
from vigil.verify.golden import load_golden, make_golden, path_of, save_golden
from vigil.verify.limits import load_limits
from vigil.verify.standards import Standard, load_standard, verify_contexts

_INTRODUCTION = """\
What `vigil verify` says of each fault in tests/faults/, in each framework and mode.
A field has the origin that it names, how many noise floors that is off, and the seconds that it took.
The origins were written down beforehand, in benchmarks/faults.py; one that is another stands as `not located`.
Made by `python -m benchmarks.faults --recipe {recipe} --markdown FILE`."""
FOLDER = project_root() / "tests" / "faults"
MANY_CLASSES = project_root() / "tests" / "recipes" / "resnet_cifar_1030.yaml"


@dataclasses.dataclass(frozen=True)
class Fault:
    """A planted fault and the origin that must be named: patterns of layer, phase and quantity.

    context: fields that it needs to show at all. recipe: whose it is; variant: the file of a variant that it needs. quick: do
    single steps on margin batches show it, the short form of verify that precedes every reproduction? The others need a full
    batch, repetition or ties.
    """

    name: str
    layer: str
    phase: str
    quantity: str
    context: tuple[tuple[str, Any], ...] = ()
    recipe: str = "resnet_cifar"
    variant: Path | None = None
    quick: bool = True

    def is_located(self, origin: Origin | None) -> bool:
        """Is this origin the one that was planted?"""
        if origin is None:
            return False
        wanted = {"layer": self.layer, "phase": self.phase, "quantity": self.quantity}
        return all(fnmatch.fnmatch(getattr(origin, key), pattern) for key, pattern in wanted.items())


TWO = (("devices", 2), ("shards", (20, 12)))
UNEVEN = (("devices", 2), ("shards", (5, 3)))
FAULTS = (
    Fault("weight_gradient_scaled", "stage3.block1.conv2", "backward", "weight gradient"),
    Fault("bias_gradient_scaled", "head", "backward", "bias gradient"),
    Fault("data_gradient_scaled", "stage2.block1.conv2", "backward", "data gradient"),
    Fault("batch_norm_epsilon", "stem.bn", "forward", "output"),
    Fault("running_variance_biased", "stem.bn", "forward", "running variance"),
    Fault("batch_norm_momentum_inverted", "stem.bn", "forward", "running mean"),
    Fault("running_statistics_twice", "stem.bn", "forward", "running mean"),
    Fault("sync_batch_norm_even_shards", "stage3.block1.bn2", "backward", "data gradient", TWO),
    Fault("all_reduce_drops_element", "head", "all-reduce", "weight gradient", TWO),
    Fault("weight_decay_skipped", "head", "update", "weight decay"),
    Fault("nesterov_for_plain", "optimizer", "update", "momentum"),
    Fault("learning_rate_late", "optimizer", "update", "learning rate"),
    Fault("cross_entropy_many_classes", "loss", "forward", "loss", variant=MANY_CLASSES),
    Fault("loss_scale_kept", "optimizer", "update", "loss scale", (("precision", "fp16"),)),
    Fault("parameter_cast_bf16", "stage3.block1.conv1", "forward", "output"),
    Fault("padding_other_side", "stage2.block1.conv1", "forward", "output"),
    Fault("reduction_stops_at_256", "stage3.block1.bn1", "forward", "output", quick=False),
    Fault("last_row_wrong", "head", "forward", "output"),
    Fault("stale_activation", "stage2.block1.conv2", "repetition", "output", quick=False),
    Fault("activation_noise", "stage2.block1.conv1", "forward", "output"),
    # Four rows are one part, which has the same statistics in any order: it is the order of the keys that tells.
    Fault("keys_not_shuffled", "keys", "forward", "output", recipe="moco_lite"),
    Fault("key_momentum_zero", "key.*", "forward", "moving average of *", recipe="moco_lite"),
    Fault("queue_not_updated", "queue", "forward", "content", recipe="moco_lite"),
    Fault("temperature_twice", "contrast", "forward", "output", recipe="moco_lite"),
    # It arrives in the parameters themselves, by way of the move: the last layer's are the first that are wrong.
    Fault("key_gradient_leaks", "head", "backward", "* gradient", recipe="moco_lite"),
    Fault("roi_align_half_pixel", "box.pool", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("nms_at_threshold", "proposals", "forward", "output", recipe="tiny_mask_rcnn", quick=False),
    Fault("box_delta_weights_missing", "loss.box", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("mask_class_channel", "loss.mask", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("sampling_unbalanced", "regions", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("objectness_of_ignored", "loss.rpn_class", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("region_statistics_even_shards", "box.bn", "forward", "output", UNEVEN, recipe="tiny_mask_rcnn"),
    # All places for regions are in use on these batches, not all for masks.
    Fault("unused_regions_counted", "mask.bn1", "forward", "output", recipe="tiny_mask_rcnn"),
    Fault("dense_slightly_large", "hidden", "forward", "output", recipe="digits_mlp"),
    Fault("relu_leaks", "relu", "forward", "output", recipe="digits_mlp"),
    Fault("squares_doubled", "penalty", "forward", "output", recipe="digits_mlp"),
    Fault("plain_for_nesterov", "optimizer", "update", "momentum", recipe="digits_mlp"),
    Fault("first_step_dampened", "optimizer", "update", "first step", recipe="digits_mlp"),
    Fault("scale_grows_each_step", "optimizer", "update", "loss scale", (("precision", "fp16"),), recipe="digits_mlp"),
    Fault("infinity_unchecked", "optimizer", "update", "loss scale", (("precision", "fp16"),), recipe="digits_mlp"),
    Fault("wrong_after_hundred_calls", "hidden", "repetition", "output", recipe="digits_mlp", quick=False),
    Fault("wrong_every_256_steps", "optimizer", "repetition", "learning rate", recipe="digits_mlp", quick=False),
    Fault("layer_norm_epsilon", "block1.norm1", "forward", "output", recipe="char_gpt"),
    Fault("layer_norm_unbiased", "block1.norm1", "forward", "output", recipe="char_gpt"),
    Fault("gelu_by_tanh", "block1.gelu", "forward", "output", recipe="char_gpt"),
    Fault("gelu_gradient_by_tanh", "block4.gelu", "backward", "data gradient", recipe="char_gpt"),
    Fault("attention_scores_large", "block1.attention", "forward", "output", recipe="char_gpt"),
    Fault("attention_sees_next", "block1.attention", "forward", "output", recipe="char_gpt"),
    Fault("attention_value_gradient", "block4.attention", "backward", "data gradient", recipe="char_gpt"),
    Fault("tied_gradient_lost", "tokens", "backward", "embedding gradient", recipe="char_gpt"),
    Fault("embedding_rows_once", "tokens", "backward", "embedding gradient", recipe="char_gpt"),
    Fault("positions_shifted", "embedding", "forward", "output", recipe="char_gpt"),
    Fault("dense_gradient_scaled", "block4.up", "backward", "weight gradient", recipe="char_gpt"),
    Fault("loss_smoothed", "loss", "forward", "loss", recipe="char_gpt"),
    # The parameter that is farthest out: which that is differs.
    Fault("adamw_epsilon_large", "*", "update", "*", recipe="char_gpt"),
    Fault("adamw_second_moment_slow", "*", "update", "second_moment of *", recipe="char_gpt"),
    Fault("adamw_decay_ignored", "*", "update", "*", recipe="char_gpt"),
    Fault("adamw_decays_vectors", "*norm*", "update", "scale", recipe="char_gpt"),
    Fault("clipping_ignored", "optimizer", "update", "clipping", recipe="char_gpt"),
    Fault("clipping_each_array", "optimizer", "update", "clipping", recipe="char_gpt"),
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What verify said of one fault in one context."""

    fault: Fault
    context: Context
    verdict: str
    reason: str
    origin: Origin | None
    ratio: Any
    seconds: float

    @property
    def is_caught(self) -> bool:
        return self.verdict == "regressed"

    @property
    def is_located(self) -> bool:
        return self.is_caught and self.fault.is_located(self.origin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", choices=sorted({fault.recipe for fault in FAULTS}), default="resnet_cifar")
    parser.add_argument("--fault", help="comma-separated; default: all of the recipe's")
    parser.add_argument("--framework", help="comma-separated; default: every installed one")
    parser.add_argument("--mode", help="comma-separated; default: eager,jit,compile in fp32, and eager in bf16")
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    own = [fault for fault in FAULTS if fault.recipe == arguments.recipe]
    chosen = [fault for fault in own if not arguments.fault or fault.name in arguments.fault.split(",")]
    frameworks = arguments.framework.split(",") if arguments.framework else installed_frameworks()
    modes = tuple(arguments.mode.split(",")) if arguments.mode else MODES
    known = collect(own)
    for fault in chosen if arguments.jobs else ():
        contexts = contexts_for(fault, frameworks, modes, tuple(arguments.precision.split(",")))
        contexts = [context for context in contexts if (fault.name, context.text) not in known]
        known |= {(fault.name, each.context.text): each for each in run(fault, contexts, jobs=arguments.jobs)}
    outcomes = list(known.values())
    text = table(outcomes)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")
    return 0 if all(outcome.is_caught for outcome in expressible(outcomes) if outcome.context.precision != "bf16") else 1


def contexts_for(fault: Fault, frameworks: Sequence[str], modes: Sequence[str], precisions: Sequence[str]) -> list[Context]:
    """Return every mode in fp32, and eager in bf16; a fault that needs a precision has that alone."""
    fixed = dict(fault.context)
    if "precision" in fixed:
        return [make_context(framework=framework, mode=mode, **fixed) for framework in frameworks for mode in modes]
    cells = [(mode, precision) for precision in precisions for mode in modes if precision == "fp32" or mode == "eager"]
    return [
        make_context(framework=framework, mode=mode, precision=precision, **fixed)
        for framework in frameworks
        for mode, precision in cells
    ]


def collect(own: Sequence[Fault]) -> dict[tuple[str, str], Outcome]:
    """Return the last outcome of each (fault, context) in runs/, of these faults as they are now."""
    faults = {(fault.name, file_sha256(FOLDER / f"{fault.name}.py")): fault for fault in own}
    found = {}
    for path in sorted(runs_directory().glob("*-verify-*/verify.json")):
        document = Verification.read(path.parent)
        fault = faults.get((document.fault.name, document.fault.sha256)) if document.fault else None
        if fault is not None and document.verdict.name is not Verdict.FAILED_INTERRUPTED:
            found[fault.name, document.context.text] = outcome_of(fault, document)
    return found


def run(fault: Fault, contexts: Sequence[Context], *, jobs: int) -> list[Outcome]:
    """Verify each context with the fault planted."""
    documents: dict[str, Verification] = {}
    lock = threading.Lock()

    def note(done: int, document: Verification, directory: Path) -> None:
        with lock:
            documents[document.context.text] = document
        outcome = outcome_of(fault, document)
        origin = outcome.origin
        place = f"{origin.layer}, {origin.phase}, {origin.quantity}" if origin else outcome.reason
        mark = "located" if outcome.is_located else "caught" if outcome.is_caught else outcome.verdict
        print(f"{fault.name} {outcome.context}: {mark}: {place} ({outcome.seconds:.0f} s) {directory.name}", flush=True)

    verify_contexts(
        standard_for(fault),
        contexts,
        runs_directory(),
        command=f"python -m benchmarks.faults --fault {fault.name}",
        data_directory=None,
        jobs=jobs,
        on_end=note,
        fault=fault_entry(str(FOLDER / f"{fault.name}.py")),
        short=contexts if fault.quick else (),
    )
    return [outcome_of(fault, documents[context.text]) for context in contexts]


def outcome_of(fault: Fault, document: Verification) -> Outcome:
    """Return what a verify.json says of a fault."""
    origin, worst = document.origin, document.worst
    ratio = origin.ratio if origin else worst.ratio if worst else None
    context = document.context
    verdict = document.verdict
    return Outcome(fault, context, verdict.name, verdict.reason, origin, ratio, document.seconds)


def standard_for(fault: Fault) -> Standard:
    """Return tape and limits for a fault; a variant of the recipe gets a tape of its own, by the oracle alone, kept in runs/."""
    if fault.variant is None:
        return load_standard(load_recipe(fault.recipe), "quick", data_directory=None)
    recipe = load_recipe(str(fault.variant))
    facts = identity_of(recipe, "quick")
    path = path_of(facts.name, facts.profile, runs_directory() / "tapes")
    if not path.exists():
        precisions = ("fp32", "bf16")
        tape = make_golden(
            recipe=facts, training=recipe.resolve("quick"), data_directory=None, progress=_say, late=8, precisions=precisions
        )
        save_golden(path, tape)
    tape = load_golden(path, recipe=facts, data_directory=None)
    return Standard(tape, load_limits(fault.recipe, model=tape.training["model"]["name"]))


def expressible(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of faults that the framework can express; the fault file refuses where it cannot."""
    return [each for each in outcomes if each.verdict not in ("failed:fault", "unsupported")]


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the Markdown page: a row for each fault and framework, a column for each mode."""
    recipe = next(outcome.fault.recipe for outcome in outcomes)
    lines = [f"# Planted faults: {recipe}", "", _INTRODUCTION.format(recipe=recipe), ""]
    columns = sorted({(o.context.precision == "bf16", MODES.index(o.context.mode)) for o in outcomes})
    heads = [f"{MODES[mode]}, {'bf16' if low else 'fp32'}" for low, mode in columns]
    lines += [f"| fault | framework | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    for fault in FAULTS:
        for framework in FRAMEWORKS:
            mine = {
                (o.context.precision == "bf16", MODES.index(o.context.mode)): o
                for o in outcomes
                if o.fault == fault and o.context.framework == framework
            }
            if mine:
                cells = [cell(mine[key]) if key in mine else "" for key in columns]
                lines.append(f"| {fault.name} | {framework} | {' | '.join(cells)} |")
    lines += ["", *summary(outcomes), ""]
    return "\n".join(lines)


def cell(outcome: Outcome) -> str:
    """Return origin or verdict, ratio to the floor, and seconds, short enough for a table."""
    if outcome.verdict in ("failed:fault", "unsupported"):
        return "cannot be expressed" if outcome.verdict == "failed:fault" else "unsupported"
    precision = f"{outcome.context.precision}: " if outcome.context.precision not in ("fp32", "bf16") else ""
    if not outcome.is_caught:
        return f"{precision}{'not seen' if outcome.verdict == 'reproduced' else outcome.verdict}, {outcome.seconds:.0f} s"
    origin = outcome.origin
    place = f"{origin.layer} {origin.quantity}" if origin else "no origin"
    if math.isfinite(outcome.ratio):  # what is wrong beyond all numbers, as a loss scale, is so many floors off as well
        place += f", {outcome.ratio:,.0f}x"
    return f"{precision}{'' if outcome.is_located else 'caught, not located: '}{place}, {outcome.seconds:.0f} s"


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the counts and what they stand on."""
    able = expressible(outcomes)
    wide = [each for each in able if each.context.precision != "bf16"]
    low = [each for each in able if each.context.precision == "bf16"]
    shards = sorted({each.context.shards for each in able if each.context.shards})
    two = "".join(f"Two devices have shards of {first} and {second} images. " for first, second in shards)
    lines = [
        f"- {sum(each.is_caught for each in wide)} of {len(wide)} caught in fp32 (the loss scale in fp16), "
        f"{sum(each.is_located for each in wide)} with the right origin: layer, phase and quantity.",
        f"- {sum(each.is_caught for each in low)} of {len(low)} also caught in bf16, "
        f"{sum(each.is_located for each in low)} located.",
        f"- {len(outcomes) - len(able)} cannot be expressed in their framework or context.",
        f"- Median {statistics.median(each.seconds for each in able):.0f} s a context, start-up and localisation included.",
        f"- {two}{describe_machine()['hardware']}, Python {sys.version.split()[0]}, "
        f"{date.today().isoformat()}. The number before the seconds is the distance in units of the noise floor.",
    ]
    return lines if low else [lines[0], *lines[2:]]


def _say(what: str, done: int, total: int) -> None:
    if done == total:
        print(f"{what}: {total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
