"""What a document becomes in MLflow: plain values, computed before anything is sent.

It needs neither MLflow nor a tracker: the hash of what will be sent is known before anything is looked up. All that history
needs is among the tags and metrics, so that it can be read from MLflow alone. The notes explain the tags beside the runs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Literal
from urllib.parse import quote

from vigil.documents.context import Context
from vigil.documents.document import DIGEST
from vigil.documents.identity import Identity
from vigil.documents.invocation import FirstRung, Invocation
from vigil.documents.judgement import Judgement, RunBand
from vigil.documents.record import Environment, Record
from vigil.documents.verdict import Verdict
from vigil.documents.verification import SHORT, WHOLE, Origin, Verification
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE
from vigil.paths import file_name
from vigil.redaction import redact

NOTE, RUN_NAME = "mlflow.note.content", "mlflow.runName"
INVOCATION_ID = "vigil.invocation_id"
RUN_ID = "vigil.run_id"
VERIFY_ID = "vigil.verify_id"
PARENT_RUN = "none"  # what a parent's `vigil.run_id` says
NO_FAULT = "none"
ORDER = "vigil.order"  # what a table is sorted by, the largest first
REPORT_PORT = 5001  # notes are written long before they are read: a fixed one
LOSS_POINTS = 1000  # a chart shows no more; the record, attached as an artifact, has every step
STATUSES = {"finished": "FINISHED", "failed": "FAILED", "unsupported": "FAILED", "interrupted": "KILLED"}

Label = str | int | tuple[int, ...] | None
Point = tuple[str, float, int, int]  # name, value, time in milliseconds, step


_LARGEST = 99_999.0


class Standing(IntEnum):
    """How a timeline or a look stands: the larger, the sooner a person must look. MOVED: nobody said which way is better."""

    FINE = 0
    OPEN = 1
    MOVED = 2
    FAILED = 3
    WRONG = 4

    @classmethod
    def of(cls, verdict: Verdict) -> Standing:
        """Return how something with a verdict stands. What is unsupported, or a known finding, is nothing to look at."""
        if verdict is Verdict.REGRESSED:
            return cls.WRONG
        if verdict.is_failed:
            return cls.FAILED
        if verdict.is_outside:
            return cls.MOVED
        return cls.OPEN if verdict.is_undecided else cls.FINE

    @property
    def mark(self) -> str:
        """Return what stands in front of its name."""
        return ("", "? ", "~ ", "! ", "✗ ")[self]

    @property
    def status(self) -> str:
        """Return MLflow's status for it: what is wrong has a red cross."""
        return "FAILED" if self >= Standing.FAILED else "FINISHED"

    def order(self, size: float) -> str:
        """Return the text that it is sorted by. size: how far off it is, among those that stand alike."""
        return f"{int(self)}-{min(_LARGEST if math.isnan(size) else abs(size), _LARGEST):09.3f}"


@dataclass(frozen=True)
class Attachment:
    """A file that is sent besides the document, under `name`."""

    name: str
    sha256: str
    path: str


@dataclass(frozen=True)
class Entry:
    """One MLflow run, before anything is sent.

    shown: tags for a person to look at and no more. An upload is not known by them: other words there are no other run.
    """

    name: str
    identity: dict[str, str]
    labels: dict[str, str]
    note: str
    metrics: tuple[Point, ...]
    status: str
    start: int
    end: int
    artifact: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    shown: dict[str, str] = field(default_factory=dict)

    def content_hash(self) -> str:
        """Return the SHA-256 of everything that an upload sends, wherever its files lie."""
        content = asdict(self)
        del content["shown"]
        content["attachments"] = [(attachment.name, attachment.sha256) for attachment in self.attachments]
        if not self.attachments:  # what was uploaded before there were any keeps its hash
            del content["attachments"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def cell_tags(recipe: Identity, context: Context) -> dict[str, Label]:
    """Return the tags that say what was trained and where: the fields of the identity and of the context, and its text."""
    named = {"name": "recipe", "profile": "profile"}
    of_recipe = {named.get(name, f"recipe_{name}"): getattr(recipe, name) for name in Identity.model_fields}
    of_context = context.as_dict()
    return {"context": of_context.pop("text")} | of_context | of_recipe


def texts(labels: Mapping[str, Label]) -> dict[str, str]:
    """Return labels as MLflow has them: text without secrets; those that are None are left out."""
    known = {key: value for key, value in labels.items() if value is not None}
    return {key: redact(str(value) if isinstance(value, str) else json.dumps(value)) for key, value in known.items()}


def marked(name: str, verdict: str) -> str:
    """Return a run's name, in front of it a mark where something is wrong (✗) or did not run (!)."""
    try:
        known = Verdict(verdict)
    except ValueError:
        return name
    if known is Verdict.UNSUPPORTED or known is Verdict.KNOWN_FINDING:
        return name
    return {EXIT_OUTSIDE: "✗ ", EXIT_COULD_NOT_RUN: "! "}.get(known.exit_code, "") + name


def plain_number(value: float) -> str:
    """Return a number of a metric as a person reads it in a table: five digits."""
    return f"{value:.5g}"


def number_texts(value: float | None, low: float | None, high: float | None, *, unit: str) -> dict[str, str | None]:
    """Return the tags `value` and `band`; None for what there is not."""
    return {
        "value": None if value is None else f"{plain_number(value)} {unit}",
        "band": None if low is None or high is None else f"{plain_number(low)} to {plain_number(high)}",
    }


def report_link(page: str) -> str:
    """Return a link to a page of the report, which `vigil dashboard` serves: a browser follows none from MLflow's to a file.

    It belongs at the top of a note: MLflow shows the first four lines.
    """
    return f"[page of the report](http://127.0.0.1:{REPORT_PORT}/{quote(page)})"


def report_page(recipe: Identity, context: Context) -> str:
    """Return where the page of a cell lies below the folder of `vigil report`."""
    return f"cells/{file_name(recipe.name, recipe.profile, context.text)}.html"


def shown_tags(
    name: str, *, verdict: str, note: str, command: str, page: str, more: Mapping[str, Label] | None = None
) -> dict[str, str]:
    """Return what a person sees of a run: its name with a mark, its command and its page of the report, also in its note."""
    told = f"{report_link(page)} (while `vigil dashboard` runs)\n\n{note}\n\n- command: `{command}`"
    known = {RUN_NAME: marked(name, verdict), NOTE: told, "command": command, "report": page}
    return texts(known | dict(more or {}))


def sent_text(content: bytes | str, *, indent: int = 2) -> str:
    """Return a document's file as it is sent: without secrets, and without `tracking`, for a later upload must hash the same.

    Its own digest would be that of other content.
    """
    values = json.loads(content)
    for key in ("tracking", DIGEST):
        values.pop(key, None)
    return redact(json.dumps(values, indent=indent)) + "\n"


def thinned(losses: Sequence[float], *, limit: int = LOSS_POINTS) -> list[tuple[int, float]]:
    """Return (steps done, loss) for every k-th step and the last; k is the smallest that gives up to `limit` + 1."""
    stride = -(-len(losses) // limit) or 1
    steps = list(range(1, len(losses) + 1, stride))
    if losses and steps[-1] != len(losses):
        steps.append(len(losses))
    return [(step, losses[step - 1]) for step in steps]


def child_entry(record: Record, invocation: Invocation, *, text: str, attachments: tuple[Attachment, ...] = ()) -> Entry:
    """Return what one run, a nested one in MLflow, consists of.

    Args:
        text: of its record.json.

    Raises:
        ValueError: The invocation has no verdict, or the run failed in a category that there is not.
    """
    start, end = span(record.created, record.timing.wall_seconds)
    judgement = _judged(invocation)
    verdict, failure, fault = _child_verdict(record, judgement), record.failure, record.fault
    labels = cell_tags(record.recipe, record.context) | {
        "release": release_of(record.environment),
        "night": invocation.night,
        "seed": record.seed,
        "metric": record.metric.name,
        "unit": record.metric.unit,
        "direction": record.metric.direction,
        "verdict": verdict,
        # The reason of the invocation's verdict, where that is another one, is not about this run.
        "reason": failure.message if failure else judgement.reason if verdict == judgement.name else None,
        "fault": fault.name if fault else NO_FAULT,
        "fault_sha256": fault.sha256 if fault else None,
        "state_sha256": record.state_sha256,
    }
    note = redact(f"**{verdict}** in phase {failure.phase}: {failure.message}" if failure else f"**{verdict}**")
    name, band, metric = f"{record.context.text} seed {record.seed}", judgement.band, record.metric
    numbers = number_texts(metric.value, band.low if band else None, band.high if band else None, unit=metric.unit)
    return Entry(
        name=name,
        identity={INVOCATION_ID: record.invocation_id, RUN_ID: record.run_id},
        labels=texts(labels),
        note=note,
        metrics=tuple(_child_metrics(record, judgement.band, start=start, end=end)),
        status=STATUSES[record.status],
        start=start,
        end=end,
        artifact=Record.FILE_NAME,
        text=sent_text(text),  # the end of its log may hold a URI with a password
        attachments=attachments,
        shown=shown_tags(
            name,
            verdict=verdict,
            note=note,
            command=invocation.command,
            page=report_page(record.recipe, record.context),
            more=numbers,
        ),
    )


def parent_entry(
    invocation: Invocation, records: Sequence[Record], *, text: str, attachments: tuple[Attachment, ...] = ()
) -> Entry:
    """Return what one invocation, the parent of its runs in MLflow, consists of.

    Args:
        text: of its invocation.json.

    Raises:
        ValueError: It has no verdict.
    """
    start, end = span(invocation.created, invocation.wall_seconds)
    judgement = _judged(invocation)
    releases = sorted({release for record in records if (release := release_of(record.environment))})
    faults = sorted({record.fault.name for record in records if record.fault})
    labels = cell_tags(invocation.recipe, invocation.context) | {
        "release": ", ".join(releases) or None,
        "night": invocation.night,
        "seeds": ", ".join(str(seed) for seed in invocation.seeds),
        "verdict": judgement.name,
        "fault": ", ".join(faults) or NO_FAULT,
    }
    rung, band = invocation.verify, judgement.band
    numbers = {
        f"mean_{judgement.metric}": judgement.mean,
        "band_low": band.low if band else None,
        "band_high": band.high if band else None,
        "detectable_drop": judgement.detectable_drop,
        "wall_seconds": invocation.wall_seconds,
    }
    if rung and rung.verdict:
        labels |= {"verify": rung.verdict.name, "verify_reason": rung.verdict.reason} | _origin_labels(rung.origin)
        numbers |= _rung_numbers(rung)
    statuses = {STATUSES[record.status] for record in records} or {"FAILED"}
    name, note = f"{invocation.context.text} {invocation.recipe.profile}", redact(_judgement_note(judgement))
    held_to = judgement.mean_band or band
    number = number_texts(
        judgement.mean, held_to.low if held_to else None, held_to.high if held_to else None, unit=judgement.unit
    )  # fmt: skip
    return Entry(
        name=name,
        identity={INVOCATION_ID: invocation.invocation_id, RUN_ID: PARENT_RUN},
        labels=texts(labels),
        note=note,
        metrics=at_the_end(numbers, end),
        status=next(status for status in ("KILLED", "FAILED", "FINISHED") if status in statuses),
        start=start,
        end=end,
        artifact=Invocation.FILE_NAME,
        text=sent_text(text),
        attachments=attachments,
        shown=shown_tags(
            name,
            verdict=judgement.name,
            note=note,
            command=invocation.command,
            page=report_page(invocation.recipe, invocation.context),
            more=number | {"reason": judgement.reason},
        ),
    )


def verify_entry(
    document: Verification, *, text: str, attachments: tuple[Attachment, ...] = (), narrowed: str | None = None
) -> Entry:
    """Return what one verification, a run of its own in MLflow, consists of.

    Args:
        text: of its verify.json.
        narrowed: what narrowing it came to.
    """
    end, _ = span(document.created, None)  # `created` is when it ended
    name, worst = document.verdict.name, document.worst
    labels = cell_tags(document.recipe, document.context) | {
        "release": release_of(document.environment),
        "night": document.night,
        "verdict": name,
        "reason": document.verdict.reason,
        "fault": document.fault.name if document.fault else NO_FAULT,
        "form": SHORT if document.is_short else WHOLE,
        "narrowed": narrowed,
    }
    numbers: dict[str, float | None] = {
        "seconds": document.seconds,
        "tensors_out": document.tensors_out if document.tensors else None,
        "tensors": len(document.tensors) or None,
        "worst_ratio": worst.ratio if worst else None,
        "worst_score": worst.score if worst else None,
    }
    shown_name, note = f"verify {document.context} {document.recipe.profile}", redact(f"**{name}**: {document.verdict.reason}")
    note += redact(f"\n\n**narrowed**: {narrowed} (see `narrowed/1/report.md` of its artifacts)") if narrowed else ""
    page = report_page(document.recipe, document.context)
    return Entry(
        name=shown_name,
        identity={VERIFY_ID: document.verify_id},
        labels=texts(labels | _origin_labels(document.origin)),
        note=note,
        metrics=at_the_end(numbers, end),
        status="FAILED" if name.is_failed or name is Verdict.UNSUPPORTED else "FINISHED",
        start=end - round(1000 * document.seconds),
        end=end,
        artifact=Verification.FILE_NAME,
        text=sent_text(text, indent=1),
        attachments=attachments,
        shown=shown_tags(shown_name, verdict=name, note=note, command=document.command, page=page),
    )


def _judged(invocation: Invocation) -> Judgement:
    if invocation.verdict is None:
        raise ValueError("verdict: there is none yet")
    return invocation.verdict


def release_of(environment: Environment | None) -> str | None:
    """Return the framework's version, where it is known."""
    version = (environment or {}).get("framework_version")
    return version if isinstance(version, str) else None


def _origin_labels(origin: Origin | None) -> dict[str, Label]:
    names: tuple[Literal["layer", "phase", "quantity"], ...] = ("layer", "phase", "quantity")
    return {f"origin_{name}": getattr(origin, name) for name in names} if origin else {}


def _rung_numbers(rung: FirstRung) -> dict[str, float | None]:
    """Return the numbers of a first rung: its summary holds the worst tensor, and since there are nights their count."""
    return {
        "verify_worst_ratio": rung.worst.ratio if rung.worst else None,
        "verify_worst_score": rung.worst.score if rung.worst else None,
        "verify_tensors": rung.tensors,
        "verify_tensors_out": rung.tensors_out,
        "verify_seconds": rung.seconds,
    }


def at_the_end(numbers: Mapping[str, float | None], end: int) -> tuple[Point, ...]:
    """Return numbers as metrics at a time; those that are None are left out."""
    return tuple((name, float(value), end, 0) for name, value in numbers.items() if value is not None)


def _child_verdict(record: Record, judgement: Judgement) -> str:
    """Return the verdict on this seed; a run that gave no number is named by how it ended."""
    if record.status != "finished":
        return Verdict.of_failure(record.failure.category if record.failure else record.status)
    judged = {value.seed: value.verdict for value in judgement.values}
    return judged.get(record.seed) or judgement.name


def _child_metrics(record: Record, band: RunBand | None, *, start: int, end: int) -> Iterator[Point]:
    """Yield the metrics of one run; the record holds no time of a step, so steps are spread evenly over the run."""
    last_step = max([len(record.losses), *(point.step for point in record.curve)])

    def at(step: int) -> tuple[int, int]:
        return start + round((end - start) * step / max(last_step, 1)), step

    limits = {"band_low": band.low, "band_high": band.high} if band else {}
    for point in record.curve:
        numbers = {"train_loss": point.train_loss, **point.metrics, "images_per_second": point.images_per_second, **limits}
        for name, value in numbers.items():
            if value is not None:
                yield name, float(value), *at(point.step)
    for step, loss in thinned(record.losses):
        yield "loss", float(loss), *at(step)
    summary = {
        "wall_seconds": record.timing.wall_seconds,
        "cpu_seconds": record.timing.cpu_seconds,
        "first_step_seconds": record.timing.first_step_seconds,
        "peak_memory_bytes": record.peak_memory_bytes,
        f"final_{record.metric.name}": record.metric.value,
    }
    for name, value in summary.items():
        if value is not None:
            yield name, float(value), end, last_step


def span(created: str, seconds: float | None) -> tuple[int, int]:
    """Return start and end in milliseconds since 1970."""
    start = round(datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp() * 1000)
    return start, start + round((seconds or 0.0) * 1000)


def _judgement_note(judgement: Judgement) -> str:
    """Return what a person reads in MLflow: the verdict, its reason, the numbers and the band they were held to."""
    band, metric, unit = judgement.band, judgement.metric, judgement.unit
    lines = [f"**{judgement.name}**: {judgement.reason}", ""]
    for value in judgement.values:
        lines.append(f"- seed {value.seed}: {metric} {value.value} {unit} ({value.verdict})")
    if band:
        made_from = f"n = {band.n}, {band.n_seeds} seeds, {', '.join(band.frameworks)}, {', '.join(band.dates)}"
        lines.append(f"- band: {band.low} to {band.high} {unit} ({band.method} at {band.coverage}; {made_from})")
    if judgement.detectable_drop is not None:
        lines.append(f"- smallest drop caught with power {judgement.power}: {judgement.detectable_drop} {unit}")
    for target in judgement.targets:
        judged = ("met" if target.meets else "not met") if target.judged else "shown, not judged"
        of = unit if target.exact is None else f"{target.exact.metric}, seed {target.exact.seed}"
        lines.append(f"- published: {target.value} {of}, {target.source} ({judged})")
    return "\n".join(lines)


# Of the notes of earlier versions, which are replaced; one that a person has written is not.
EARLIER_NOTES = (
    "66f9cb3aa994d5c48a16a072f2a6c04e6b54768e5e8f2c999523e7a37f9ed187",
    "db09cdda4c8f9f1e9ef7c8a681155cd1bf91eeea497493ad9a6d5a4c19f44a78",
    "e2b1bfd6a06fe6fc6ff2818f36230a479d5fcf00c3ee795ef0a3a58043fbd73f",
    "99c57e2cf9a2db722918915b4dcaa49f1aa5be63c3a95562d90e637042526b1e",
    "416c0661e8a4ec9f4c367db804a9f286f02ebeba15ffe32f1c2e59a27393854e",
)

_CONTEXT_TAGS = """\
- `framework`, `release`, `mode`, `precision`, `device`, `devices`, `determinism`, `randomness`: the context, and the version of
  the framework.
- `recipe`, `recipe_version`, `recipe_hash`, `profile`: what was trained, and how much of it."""

EXPERIMENT_NOTE = f"""\
Runs of one Vigil recipe. A parent run is one command; each run nested in it trained with one seed.

{_CONTEXT_TAGS}
- `night`: the nightly run that this one was part of; absent otherwise.
- `seed`, `metric`, `unit`, `direction`: of a nested run. Its number is the metric `final_<metric>`.
- `verdict`: `reproduced`, `regressed`, `better-than-reference`, `unknown`, `unsupported` or `failed:<category>`; `reason`: why.
- `fault`: `none`, or the planted fault that the run carried on purpose.
- A run named `verify ...` took single training steps instead: `verdict` is then `reproduced`, `regressed`, `known-finding`,
  `unsupported` or `failed:<category>`, and `origin_layer`, `origin_phase`, `origin_quantity` name the first wrong tensor.
- `verify`: the verdict of that rung where it ran before the training; its numbers are `verify_worst_ratio` and its kin.
- A name with ✗ in front is outside its band or has a wrong step; one with ! did not run. The status says how the process ended.
- `value`, `band`, `command`, `report`: the number and its band in words, the command, and the page of `vigil report`.
- `band_low`, `band_high`: the reference band for the last value of the metric; draw them in one chart with the metric.
- `loss`: the training loss, thinned to about a thousand steps. `record.json` among the artifacts holds every step.
- `vigil.*`: what `vigil sync` and the history go by. Leave these as they are.

Runs from before there were nights say `framework_version` for `release`; `vigil sync --all` uploads them anew.
"""

TIMELINES_NOTE = f"""\
One run for every cell (recipe, profile, context) of Vigil's nightly runs. A step is a night: this is where drift is seen.
The saved view "What drifts or is wrong" sorts the worst to the top; `vigil dashboard` prints its address first.

- ✗ in front of a name: wrong, or drifting for the worse. !: it did not run. The status of both is FAILED.
  ~: better than it should be, or moved. ?: nobody knows.
- `drift`: `worse`, `better`, `moved`, `no value`, `none` or `not tested`, and `drift_size` with its 95 % interval, `drift_since`
  (night), `drift_release`, `drift_q` (false discovery rate), `drift_as_of` (the last night that was looked at by `vigil drift`).
- `band_position`: 0 in the middle of the band, -1 at its worse edge, 1 at its better one: one axis for all cells.
- The metric under its own name: the mean over the night's seeds. A gap: the cell gave no number that night.
- `band_low`, `band_high`: what the reference lets that mean be. Each run's description links to the chart of all three.
- `verify_worst_ratio`: how far the worst tensor of one training step was from what is expected, in noise floors.
- A name with `cells pooled`: cells that drift together, while none does alone. `pooled` is their median, night by night, each
  cell in standard deviations from its own mean. It is made anew by each `vigil drift`, and goes with the finding.

Tags are those of the last night, to filter by:

{_CONTEXT_TAGS}
- `verdict`: on the mean of the last night, or `regressed` or `failed:...` where a verified step was.
  `tags.verdict = 'regressed'` finds what is wrong now.
- `night`, `number`: the last night, and its step. `seeds`: how many seeds it had.
- `metric`, `unit`, `direction`: what is charted, and whether higher or lower is better. `value`, `band`: the last in words.
- `command`: looks at the cell again. `report`: its page below the folder of `vigil report`.
- `ended`: the recipe has changed, and the cell has a newer timeline.
- `vigil.*`: what Vigil goes by. Leave these as they are.

A recipe whose numbers may move has another `recipe_hash`, and a timeline of its own from then on.
"""

NIGHTS_NOTE = """\
One run for every night of Vigil: what it covered and what it found. The runs themselves lie in the experiments of their recipes,
and carry the night in their tag `night`; the experiment `timelines` shows the numbers over the nights.

- `night`, `number`: its name, and the step that it has in every timeline.
- `verdict`: the worst of its cells. `verdicts`: how many cells had which. Metrics: `cells`, `cells_<verdict>`, `seconds`.
- `release_<framework>`: what was tested.
- Artifacts: the summary as Markdown and JSON, and as JUnit XML where that was written.
- `vigil.*`: what Vigil goes by. Leave these as they are.
"""
