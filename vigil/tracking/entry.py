"""What one invocation and each of its runs become in MLflow: plain values, computed before anything is sent.

It needs neither MLflow nor a tracker: the hash of what will be sent is known before anything is looked up. All that history
needs is among the tags and metrics, so that it can be read from MLflow alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from vigil.redaction import redact

INVOCATION_ID = "vigil.invocation_id"
RUN_ID = "vigil.run_id"
VERIFY_ID = "vigil.verify_id"
LOSS_POINTS = 1000  # a chart shows no more; the record, attached as an artifact, has every step
STATUSES = {"finished": "FINISHED", "failed": "FAILED", "unsupported": "FAILED", "interrupted": "KILLED"}


@dataclass(frozen=True)
class Attachment:
    """A file that is sent besides the document, under `name`."""

    name: str
    sha256: str
    path: str


@dataclass(frozen=True)
class Entry:
    """One MLflow run, before anything is sent. `metrics` holds (name, value, time in milliseconds, step)."""

    name: str
    identity: dict[str, str]
    labels: dict[str, str]
    note: str
    metrics: tuple[tuple[str, float, int, int], ...]
    status: str
    start: int
    end: int
    artifact: str
    text: str
    attachments: tuple[Attachment, ...] = ()

    def content_hash(self) -> str:
        """Return the SHA-256 of everything that an upload sends, wherever its files lie."""
        content = asdict(self)
        content["attachments"] = [(each.name, each.sha256) for each in self.attachments]
        if not self.attachments:  # what was uploaded before there were any keeps its hash
            del content["attachments"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def thinned(losses: Sequence[float], *, limit: int = LOSS_POINTS) -> list[tuple[int, float]]:
    """Return (steps done, loss) for every k-th step and the last; k is the smallest that gives up to `limit` + 1."""
    stride = -(-len(losses) // limit) or 1
    steps = list(range(1, len(losses) + 1, stride))
    if losses and steps[-1] != len(losses):
        steps.append(len(losses))
    return [(step, losses[step - 1]) for step in steps]


def child_entry(record: dict[str, Any], invocation: dict[str, Any], *, attachments: tuple[Attachment, ...] = ()) -> Entry:
    """Return what one run, a nested one in MLflow, consists of."""
    start, end = _span(record["created"], (record["timing"] or {}).get("wall_seconds"))
    verdict = _child_verdict(record, invocation["verdict"])
    fault, failure, metric = record["fault"] or {"name": "none"}, record["failure"], record["metric"]
    labels = _context_labels(record) | {
        "release": _release(record),
        "night": invocation.get("night"),
        "seed": record["seed"],
        "metric": metric["name"],
        "unit": metric["unit"],
        "direction": metric["direction"],
        "verdict": verdict,
        "reason": failure["message"] if failure else _shared_reason(verdict, invocation["verdict"]),
        "fault": fault["name"],
        "fault_sha256": fault.get("sha256"),
        "state_sha256": record.get("state_sha256"),
    }
    note = f"**{verdict}** in phase {failure['phase']}: {failure['message']}" if failure else f"**{verdict}**"
    return Entry(
        name=f"{record['context']['text']} seed {record['seed']}",
        identity={INVOCATION_ID: record["invocation_id"], RUN_ID: record["run_id"]},
        labels=_texts(labels),
        note=redact(note),
        metrics=tuple(_child_metrics(record, invocation["verdict"].get("band"), start=start, end=end)),
        status=STATUSES[record["status"]],
        start=start,
        end=end,
        artifact="record.json",
        text=redact(json.dumps(record, indent=2)) + "\n",  # the end of its log may hold a URI with a password
        attachments=attachments,
    )


def parent_entry(invocation: dict[str, Any], records: list[dict[str, Any]], *, attachments: tuple[Attachment, ...] = ()) -> Entry:
    """Return what one invocation, the parent of its runs in MLflow, consists of."""
    start, end = _span(invocation["created"], invocation["wall_seconds"])
    verdict = invocation["verdict"]
    releases = sorted({release for release in map(_release, records) if release})
    faults = sorted({record["fault"]["name"] for record in records if record["fault"]})
    labels = _context_labels(invocation) | {
        "release": ", ".join(releases) or None,
        "night": invocation.get("night"),
        "seeds": ", ".join(str(seed) for seed in invocation["seeds"]),
        "verdict": verdict["name"],
        "fault": ", ".join(faults) or "none",
    }
    verify, band = invocation.get("verify"), verdict.get("band") or {}
    if verify:
        labels |= {"verify": verify["verdict"]["name"], "verify_reason": verify["verdict"].get("reason")}
        labels |= _origin_labels(verify["origin"])
    numbers = {
        f"mean_{verdict['metric']}": verdict.get("mean"),
        "band_low": band.get("low"),
        "band_high": band.get("high"),
        "detectable_drop": verdict.get("detectable_drop"),
        "wall_seconds": invocation["wall_seconds"],
    } | (_rung_numbers(verify) if verify else {})
    statuses = {STATUSES[record["status"]] for record in records} or {"FAILED"}
    kept = {key: value for key, value in invocation.items() if key != "tracking"}  # a later upload must hash the same
    return Entry(
        name=f"{invocation['context']['text']} {invocation['recipe']['profile']}",
        identity={INVOCATION_ID: invocation["invocation_id"], RUN_ID: "none"},
        labels=_texts(labels),
        note=redact(_verdict_note(verdict)),
        metrics=tuple((key, float(value), end, 0) for key, value in numbers.items() if value is not None),
        status=next(status for status in ("KILLED", "FAILED", "FINISHED") if status in statuses),
        start=start,
        end=end,
        artifact="invocation.json",
        text=redact(json.dumps(kept, indent=2)) + "\n",
        attachments=attachments,
    )


def verify_entry(document: dict[str, Any], *, attachments: tuple[Attachment, ...] = ()) -> Entry:
    """Return what one verification, a run of its own in MLflow, consists of."""
    start, end = _span(document["created"], None)
    verdict, worst = document["verdict"], document["worst"]
    labels = _context_labels(document) | {
        "release": _release(document),
        "night": document.get("night"),
        "verdict": verdict["name"],
        "reason": verdict["reason"],
        "fault": (document["fault"] or {"name": "none"})["name"],
    }
    out = sum(float(each["score"]) > 1.0 for each in document["tensors"])
    numbers = {"seconds": document["seconds"], "tensors_out": out if document["tensors"] else None}
    numbers |= {"tensors": len(document["tensors"]) or None}
    numbers |= {f"worst_{key}": worst[key] if worst else None for key in ("ratio", "score")}
    kept = {key: value for key, value in document.items() if key != "tracking"}  # a later upload must hash the same
    return Entry(
        name=f"verify {document['context']['text']} {document['recipe']['profile']}",
        identity={VERIFY_ID: document["verify_id"]},
        labels=_texts(labels | _origin_labels(document["origin"])),
        note=redact(f"**{verdict['name']}**: {verdict['reason']}"),
        metrics=tuple((key, float(value), end, 0) for key, value in numbers.items() if value is not None),
        status="FAILED" if verdict["name"].startswith("failed:") or verdict["name"] == "unsupported" else "FINISHED",
        # `created` is when it ended.
        start=start - round(1000 * document["seconds"]),
        end=end,
        artifact="verify.json",
        text=redact(json.dumps(kept, indent=1)) + "\n",
        attachments=attachments,
    )


def _origin_labels(origin: dict[str, Any] | None) -> dict[str, Any]:
    return {f"origin_{key}": origin[key] for key in ("layer", "phase", "quantity")} if origin else {}


def _rung_numbers(verify: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a first rung: its summary holds the worst tensor, and since there are nights their count."""
    worst = verify.get("worst") or {}
    numbers = {f"worst_{key}": worst.get(key) for key in ("ratio", "score")}
    numbers |= {key: verify.get(key) for key in ("tensors", "tensors_out", "seconds")}
    return {f"verify_{key}": value for key, value in numbers.items()}


def _release(record: dict[str, Any]) -> str | None:
    return (record["environment"] or {}).get("framework_version")


def _context_labels(document: dict[str, Any]) -> dict[str, Any]:
    """Return what a record and an invocation share: the recipe and the context."""
    context = {key: value for key, value in document["context"].items() if key != "text"}
    recipe = document["recipe"]
    named = {"recipe": recipe["name"], "recipe_version": recipe["version"], "recipe_hash": recipe["hash"]}
    return context | named | {"profile": recipe["profile"], "context": document["context"]["text"]}


def _texts(labels: dict[str, Any]) -> dict[str, str]:
    known = {key: value for key, value in labels.items() if value is not None}
    return {key: redact(value if isinstance(value, str) else json.dumps(value)) for key, value in known.items()}


def _child_verdict(record: dict[str, Any], verdict: dict[str, Any]) -> str:
    """Return the verdict on this seed; a run that gave no number is named by how it ended."""
    if record["status"] == "unsupported":
        return "unsupported"
    if record["status"] != "finished":
        return f"failed:{record['failure']['category']}" if record["failure"] else f"failed:{record['status']}"
    judged = {row["seed"]: row["verdict"] for row in verdict["values"]}
    return judged.get(record["seed"]) or verdict["name"]


def _shared_reason(verdict: str, of_all: dict[str, Any]) -> str | None:
    """Return the reason of the invocation's verdict where it is this run's verdict, too: else it is not about this run."""
    return of_all["reason"] if verdict == of_all["name"] else None


def _child_metrics(
    record: dict[str, Any], band: dict[str, Any] | None, *, start: int, end: int
) -> Iterator[tuple[str, float, int, int]]:
    """Yield the metrics of one run; the record holds no time of a step, so steps are spread evenly over the run."""
    losses, curve, timing = record["losses"] or [], record["curve"] or [], record["timing"] or {}
    last_step = max([len(losses), *(row["step"] for row in curve)])

    def at(step: int) -> tuple[int, int]:
        return start + round((end - start) * step / max(last_step, 1)), step

    limits = {"band_low": band["low"], "band_high": band["high"]} if band else {}
    for row in curve:
        for key, value in (row | limits).items():
            if key not in ("step", "epoch") and value is not None:
                yield key, float(value), *at(row["step"])
    for step, loss in thinned(losses):
        yield "loss", float(loss), *at(step)
    summary = {name: timing.get(name) for name in ("wall_seconds", "cpu_seconds", "first_step_seconds")}
    summary |= {"peak_memory_bytes": record.get("peak_memory_bytes")}
    summary |= {f"final_{record['metric']['name']}": record["metric"]["value"]}
    for key, value in summary.items():
        if value is not None:
            yield key, float(value), end, last_step


def _span(created: str, seconds: float | None) -> tuple[int, int]:
    """Return start and end in milliseconds since 1970."""
    start = round(datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp() * 1000)
    return start, start + round((seconds or 0.0) * 1000)


def _verdict_note(verdict: dict[str, Any]) -> str:
    """Return what a person reads in MLflow: the verdict, its reason, the numbers and the band they were held to."""
    band, metric, unit = verdict.get("band"), verdict["metric"], verdict["unit"]
    lines = [f"**{verdict['name']}**: {verdict['reason']}", ""]
    for row in verdict["values"]:
        lines.append(f"- seed {row['seed']}: {metric} {row['value']} {unit} ({row['verdict']})")
    if band:
        made_from = f"n = {band['n']}, {band['n_seeds']} seeds, {_listed(band['frameworks'])}, {_listed(band['dates'])}"
        lines.append(f"- band: {band['low']} to {band['high']} {unit} ({band['method']} at {band['coverage']}; {made_from})")
    if verdict.get("detectable_drop") is not None:
        lines.append(f"- smallest drop caught with power {verdict['power']}: {verdict['detectable_drop']} {unit}")
    for target in verdict.get("targets") or []:
        judged = ("met" if target["meets"] else "not met") if target["judged"] else "shown, not judged"
        lines.append(f"- published: {target['value']} {unit}, {target['source']} ({judged})")
    return "\n".join(lines)


def _listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(str(name) for name in names)
