"""How far correct programs are from the noise floor, over contexts, states and seeds: what verify's limits are made from.

    python -m benchmarks.false_alarms measure --seeds 3 --jobs 2   # appends to reference_results/<recipe>/verify/
    vigil verify resnet_cifar --all --jobs 2                       # every context on the committed tape
    python -m benchmarks.false_alarms count                        # lists and counts every alarm that they raise; --markdown FILE
    python -m benchmarks.false_alarms measure --tape --jobs 2      # then: rows of the committed tape's own states
    python -m benchmarks.false_alarms rows --gpu                   # how far rows are of their limits, by context

`measure` puts the cases of verify, and every layer alone, to each context, with other initial weights, data order and batches for
each seed. `count` reads the verifications in runs/ that hold the committed tape, whose seed, weights and batches are in no row
until `measure --tape` adds them: a limit is then never below what is usual at the states that every later verification is put
to. Verifications that were made by earlier rows are judged by the present ones. An alarm is false only if the tensor in question
is right; one that is shown wrong is a finding, named in docs/findings.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from reports.verification_table import markdown
from vigil.digests import append_listed, digest_of, read_listed
from vigil.documents.context import FRAMEWORKS, MODES, Context, parse_context
from vigil.documents.record import Code, Environment
from vigil.documents.verdict import Verdict
from vigil.documents.verification import TensorDifference, Verification
from vigil.paths import reference_directory, runs_directory
from vigil.process.build_spec import rows_of_part
from vigil.process.environment import describe_code, describe_machine, installed_frameworks
from vigil.process.side_by_side import side_by_side
from vigil.recipes.loading import Recipe, identity_of, load_recipe
from vigil.references.samples import lock_references
from vigil.runs.contexts import ALL_PRECISIONS, uneven_shards
from vigil.verify.ask import Setting, ask, lines_of
from vigil.verify.distance import Difference, plain
from vigil.verify.examination import differences_in, remove_tensors
from vigil.verify.floors import Floor
from vigil.verify.golden import Golden, make_golden, path_of
from vigil.verify.inspection import arrays_of, differences_of, line_of, look_at
from vigil.verify.limits import Limits, computed_on, make_limits, size_of, summary_row
from vigil.verify.standards import load_standard

# Every context on one device, and some on two; uneven shards are the recipe's own.
TWO_DEVICES = (
    "torch-eager-fp32-x2", "torch-jit-fp32-x2-uneven", "torch-eager-bf16-x2-uneven",
    "tensorflow-eager-fp32-x2", "tensorflow-jit-fp32-x2-uneven", "tensorflow-jit-bf16-x2",
    "jax-eager-fp32-x2-uneven", "jax-jit-fp32-x2-uneven", "jax-compile-bf16-x2",
)  # fmt: skip

# By these the frameworks take other kernels, as on another processor. XLA_FLAGS may limit vectors too (--xla_cpu_max_isa), and
# TensorFlow has no bfloat16 kernels of oneDNN without AVX-512: TF_ENABLE_ONEDNN_OPTS=0 gives what it takes there.
LIMITS_OF_INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "TF_ENABLE_ONEDNN_OPTS", "XLA_FLAGS")

# What is wrong in released frameworks, by recipe, a script for each in docs/findings/: (context, case, families, finding). The
# rows keep the numbers; limits are not made from them.
_GRADIENTS = ("parameter_gradient", "momentum", "params")
_AFTER_PRODUCTS = (*_GRADIENTS, "output", "leaf_gradient", "first_moment", "second_moment", "logits", "loss")
_TENSORFLOW_FLOAT16 = (
    ("tensorflow-eager-fp16-*", "*", _GRADIENTS, "tensorflow_float16_kernel_gradient"),
    ("tensorflow-jit-fp16-*", "*", _GRADIENTS, "tensorflow_float16_kernel_gradient"),
)
FINDINGS = {
    "resnet_cifar": (
        ("torch-compile-bf16-*", "*/layers", ("parameter_gradient",), "torch_compile_batch_norm_scale_gradient"),
        ("torch-compile-fp16-*", "*/layers", ("parameter_gradient",), "torch_compile_batch_norm_scale_gradient"),
        *_TENSORFLOW_FLOAT16,
    ),
    "moco_lite": (
        ("torch-compile-*", "*", (*_GRADIENTS, "leaf_gradient"), "torch_compile_reads_a_moved_buffer"),
        *_TENSORFLOW_FLOAT16,
    ),
    "tiny_mask_rcnn": _TENSORFLOW_FLOAT16,
    # Without AVX-512. Distances hardly show it, slopes of all that a product leads to do.
    **dict.fromkeys(
        ("char_gpt", "digits_mlp"),
        tuple(
            (f"tensorflow-{mode}-bf16-*", "*", _AFTER_PRODUCTS, "tensorflow_bfloat16_product_truncates")
            for mode in ("eager", "jit")
        ),
    ),
}
# What is wrong in a few tensors of a family, of which the others are clean: (context, patterns of tensors, finding). A row keeps
# the largest values of both, apart.
_BIASED = ("fpn.*", "rpn.*", "box.dense", "box.classes", "box.deltas", "mask.up", "mask.classes")
_BIASES = tuple(f"*/{layer}.bias" for layer in _BIASED)
APART = {
    "tiny_mask_rcnn": (
        ("jax-*-bf16-*", _BIASES, "xla_cpu_low_precision_bias_gradient"),
        ("jax-*-fp16-*", _BIASES, "xla_cpu_low_precision_bias_gradient"),
        ("tensorflow-eager-bf16-*", _BIASES, "tensorflow_low_precision_bias_gradient"),
        ("tensorflow-jit-bf16-*", _BIASES, "tensorflow_low_precision_bias_gradient"),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "count", "rows"))
    parser.add_argument("--recipe", default="resnet_cifar")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=2000)
    parser.add_argument("--tape", action="store_true", help="at the states of the committed tape instead of other seeds'")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--late", type=int, help="the late state's step (default: that of a golden tape, minutes to compute)")
    parser.add_argument("--markdown", type=Path, help="with count: also write the table of what was counted")
    parser.add_argument("--gpu", action="store_true", help="with rows: those of GPUs")
    parser.add_argument("--no-looks", action="store_true", help="only what training runs, not the layers alone")
    parser.add_argument("--contexts", help="short forms, separated by commas (default: every one on one device, some on two)")
    arguments = parser.parse_args()
    if arguments.what == "rows":
        show_rows(arguments.recipe, is_gpu=arguments.gpu)
        return 0
    if arguments.what == "count":
        documents = verifications(arguments.recipe)
        if arguments.markdown:
            arguments.markdown.write_text(markdown(documents, missing=[]), encoding="utf-8")
        standard = load_standard(load_recipe(arguments.recipe), "quick", data_directory=None)
        documents = [document for document in documents if document.tensors]
        tape, limits = standard.tape, standard.limits
        return count([by_present_limits(each, limits, tape.floors, family=tape.outline.family) for each in documents])
    recipe = load_recipe(arguments.recipe)
    contexts = [parse_context(text) for text in (arguments.contexts.split(",") if arguments.contexts else usual_contexts(recipe))]
    contexts = [context for context in contexts if context.framework in installed_frameworks()]
    if arguments.tape:
        tape = load_standard(recipe, "quick", data_directory=None).tape
        measure(tape, "tape", contexts, jobs=arguments.jobs, with_looks=not arguments.no_looks)
        return 0
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        tape = tape_of_seed(recipe, contexts, seed=seed, late=arguments.late)
        measure(tape, f"seed{seed}", contexts, jobs=arguments.jobs, with_looks=not arguments.no_looks)
    return 0


def usual_contexts(recipe: Recipe) -> list[str]:
    """Return the short forms of the contexts that limits are made from."""
    training = recipe.resolve("quick")
    first, second = uneven_shards(training["batch_size"], rows=rows_of_part(training))
    alone = [f"{name}-{mode}-{precision}-x1" for name in FRAMEWORKS for mode in MODES for precision in ALL_PRECISIONS]
    return alone + [text.replace("uneven", f"s{first}+{second}") for text in TWO_DEVICES]


def tape_of_seed(recipe: Recipe, contexts: list[Context], *, seed: int, late: int | None) -> Golden:
    """Return a tape, by the oracle alone, of other weights, orders and batches than the committed one's."""

    def progress(what: str, done: int, total: int) -> None:
        if done == total or done % 10 == 0:
            print(f"seed {seed}: {what} {done}/{total}", file=sys.stderr, flush=True)

    return make_golden(
        recipe=identity_of(recipe, "quick"), training=recipe.resolve("quick"), data_directory=None, progress=progress, seed=seed,
        late=late, precisions=tuple(sorted({context.precision for context in contexts})),
    )  # fmt: skip


def measure(tape: Golden, name: str, contexts: list[Context], *, jobs: int, with_looks: bool) -> None:
    """Put a tape's cases to every context, and append a row for each case to the clean runs of this name.

    Args:
        with_looks: run every layer alone, and the model with its taps shown, as well; each is another program to compile.
    """
    recipe_name = tape.header["recipe"]["name"]
    root = runs_directory() / f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-false-alarms-{name}"
    path = reference_directory() / recipe_name / "verify" / f"clean-{date.today().isoformat()}-{name}.jsonl"
    stop, code = threading.Event(), describe_code()  # before rows are added: they change what git tracks, the digests' list

    def work(context: Context, cores: list[int] | None) -> list[dict[str, Any]]:
        directory = root / context.text / "answers"
        return rows_of(context, tape, directory, code=code, cores=cores, with_looks=with_looks, stop=stop)

    def write(done: int, rows: list[dict[str, Any]]) -> None:
        with lock_references(reference_directory()):
            append_listed(path, "".join(json.dumps(row) + "\n" for row in rows))
        print(f"{name}: [{done}/{len(contexts)}] {rows[0]['context'] if rows else 'unsupported'}: {len(rows)} rows", flush=True)

    side_by_side(contexts, work, jobs=jobs, stop=stop, on_end=write)


def rows_of(
    context: Context,
    tape: Golden,
    directory: Path,
    *,
    code: Code,
    cores: list[int] | None,
    with_looks: bool,
    stop: threading.Event,
) -> list[dict[str, Any]]:
    """Return the raw samples of one context. A context that fails here is no sample: it raises RuntimeError."""
    started, precision = time.monotonic(), context.precision
    looked = [case for case in tape.cases if case.name in ("early/margin", "late/margin", "late/full")] if with_looks else []
    looks = [look_at(tape, case, cuts=cuts, precision=precision) for case in looked for cuts in (None, ())]
    # A repeated case is the case of its state once more.
    cases = [case for case in tape.cases if case.kind != "repeat"]
    lines = [*lines_of(tape, cases, context), *(line_of(look, context) for look in looks)]
    lines.sort(key=lambda line: (sum(line["shards"]), line["kind"] == "segments"))
    more = {name: array for look in looks for name, array in arrays_of(look).items()}
    answers = ask(Setting(context, directory, tape.header["seed"], None, cores=cores, stop=stop), tape, lines, more=more)
    failure = answers.record.failure
    if failure and failure.category == "unsupported":
        return []
    if failure:
        raise RuntimeError(f"{directory}: {failure.category}: {failure.message}")
    facts = {
        "recipe": tape.header["recipe"], "context": context.text, "framework": context.framework, "precision": precision,
        "seed": tape.header["seed"], "framework_version": answers.record.environment["framework_version"],
        "hardware": describe_machine()["hardware"], "instructions": instructions_of(describe_machine()),
        "date": date.today().isoformat(), **code.as_json(),
    }  # fmt: skip
    if context.device == "gpu":
        facts["gpu"] = answers.record.environment["gpu"]
    rows = []
    for case in cases:
        found = differences_in(case, tape, answers.tensors[case.name], context=context)
        rows.append(with_findings(row_of(found, **facts, case=case.name)))
    for look in looks:
        found = differences_of(look, tape, answers.tensors[look.name], precision=precision)
        rows.append(with_findings(row_of(found, **facts, case=look.name)))
    remove_tensors(directory)
    print(f"{context.text}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return rows


def instructions_of(machine: Environment) -> str:
    """Return the widest vectors of a processor, and the variables by which frameworks were to take narrower ones."""
    widest = next((flag for flag in ("avx512f", "avx2", "avx", "sve", "asimd") if flag in str(machine["cpu_flags"]).split()), "")
    limits = [f"{name}={machine[f'env.{name}']}" for name in LIMITS_OF_INSTRUCTIONS if f"env.{name}" in machine]
    return f"{widest}, with {' '.join(limits)}" if limits else widest


def row_of(found: list[Difference], **facts: Any) -> dict[str, Any]:
    """Return the raw sample of one case, with what a finding is known of apart: finding -> its largest values."""
    apart: dict[str, list[Difference]] = {}
    for context, patterns, finding in APART.get(facts["recipe"]["name"], ()):
        if fnmatch.fnmatch(facts["context"], context):
            apart[finding] = [each for each in found if any(fnmatch.fnmatch(each.tensor, pattern) for pattern in patterns)]
    known = [each for some in apart.values() for each in some]
    row = summary_row([each for each in found if each not in known], **facts)
    return row | ({"apart": {name: summary_row(some)["largest"] for name, some in apart.items()}} if known else {})


def with_findings(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with `not_clean`: family -> finding, where one is known."""
    found = {
        name: finding
        for context, case, families, finding in FINDINGS.get(row["recipe"]["name"], ())
        if fnmatch.fnmatch(row["context"], context) and fnmatch.fnmatch(row["case"], case)
        for name in families
    }
    return {**row, "not_clean": found} if found else row


def show_rows(recipe_name: str, *, is_gpu: bool) -> None:
    """Print a table of contexts: release, where, how many cases, and the farthest tensors, as multiples of their limits."""
    files = read_listed(reference_directory() / recipe_name / "verify", "clean-*.jsonl")
    rows = [json.loads(line) for content in files.values() for line in content.splitlines()]
    limits = make_limits(rows)
    of_contexts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if ("gpu" in row) is is_gpu:
            of_contexts.setdefault(row["context"], []).append(row)
    print("| context | release | on | cases | farthest, of its limit | its case, family, statistic |")
    print("|---|---|---|---:|---:|---|")
    for context, own in sorted(of_contexts.items()):
        scores: dict[tuple[str, str, str], float] = {}
        for row in own:
            size = size_of(row["case"])
            for family, statistics in row["largest"].items():
                for statistic, value in statistics.items() if family not in row.get("not_clean", {}) else ():
                    limit = limits.table[(row["precision"], size, family, statistic)]
                    scores[row["case"], family, statistic] = value / limit.value
        place = max(scores, key=lambda each: scores[each])
        print(f"| {context} | {own[0]['framework_version']} | {computed_on(own[0])} | {len({row['case'] for row in own})} "
              f"| {scores[place]:.2f} | {', '.join(place)} |")  # fmt: skip


def verifications(recipe_name: str) -> list[Verification]:
    """Return the last verification of each context in runs/ that held the committed tape, without a planted fault."""
    tape = digest_of(path_of(recipe_name, "quick").read_bytes())
    last = {}
    for path in sorted(runs_directory().glob(f"*-verify-{recipe_name}-quick-*/{Verification.FILE_NAME}")):
        document = Verification.read(path.parent)
        if document.golden.sha256 == tape and not document.fault:
            last[document.context.text] = document
    order = {name: number for number, name in enumerate((*FRAMEWORKS, *MODES, *ALL_PRECISIONS))}

    def place(document: Verification) -> tuple:
        context = document.context
        return order[context.framework], order[context.mode], order[context.precision], context.devices, len(context.text)

    return sorted(last.values(), key=place)


def by_present_limits(
    document: Verification,
    limits: Limits,
    floors: Mapping[str, Mapping[str, Mapping[str, Floor]]],
    *,
    family: Callable[[str], str],
) -> Verification:
    """Return a verification with its scores by the limits as they are now, for rows may have joined since it was made.

    Args:
        floors: of the tape that it was held to, by precision, case and tensor.
        family: tensor -> what it is, whichever layer it belongs to.
    """
    if document.limits.clean_rows == limits.rows:
        return document
    precision = document.context.precision

    def scored(each: TensorDifference) -> TensorDifference:
        name = plain(each.tensor)
        numbers = each.ratio, each.slope, each.intercept, each.slope_z, each.intercept_z
        floor = floors[precision][each.case][name]
        difference = Difference(each.case, each.tensor, *numbers, floor=floor, family=family(name))
        return each.replace(score=limits.score(difference, precision))

    tensors = [scored(each) for each in document.tensors]
    return document.replace(tensors=tensors, worst=max(tensors, key=lambda each: each.score))


def count(documents: list[Verification]) -> int:
    """Print every alarm that contexts raise, and their number among combinations; return 1 if there is one.

    What a known finding explains, each with its proof, is no false alarm: it is printed and counted as the finding.
    """
    combinations, raised, findings = set(), set(), []
    for document in documents:
        context = document.context.text
        combinations |= {(context, each.case.split("/")[0]) for each in document.tensors}
        out = [each for each in document.tensors if each.is_out]
        alarms = [(each.case, each.tensor, f"{each.score:.3g} times what is accepted") for each in out]
        alarms += [(each.case, each.tensor, each.what) for each in document.broken]
        if document.verdict.name is Verdict.KNOWN_FINDING:
            findings.append(f"FINDING {context}: {len(alarms)} tensors, {document.verdict.reason}")
            continue
        for case, tensor, what in alarms:
            raised.add((context, case.split("/")[0]))
            print(f"ALARM {context}: {case} {tensor}: {what}")
    print(*findings, sep="\n")
    contexts = len({context for context, _ in combinations})
    judged = [document for document in documents if document.verdict.name is not Verdict.KNOWN_FINDING]
    largest = max((document.worst.score for document in judged if document.worst), default=0.0)
    print(
        f"{len(raised)} of {len(combinations)} combinations of context and state raise an alarm that no finding explains "
        f"({contexts} contexts, {len(findings)} of them with a known finding); the largest score of the others is {largest:.2f}"
    )
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main())
