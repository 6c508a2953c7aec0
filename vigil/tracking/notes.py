"""What stands above the runs of each experiment in MLflow: which runs these are, and what their tags mean."""

from __future__ import annotations

# Of the notes of earlier versions, which are replaced; one that a person has written is not.
EARLIER_NOTES = (
    "66f9cb3aa994d5c48a16a072f2a6c04e6b54768e5e8f2c999523e7a37f9ed187",
    "db09cdda4c8f9f1e9ef7c8a681155cd1bf91eeea497493ad9a6d5a4c19f44a78",
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
- `band_low`, `band_high`: the reference band for the last value of the metric; draw them in one chart with the metric.
- `loss`: the training loss, thinned to about a thousand steps. `record.json` among the artifacts holds every step.
- `vigil.*`: what `vigil sync` and the history go by. Leave these as they are.

Runs from before there were nights say `framework_version` for `release`; `vigil sync --all` uploads them anew.
"""

TIMELINES_NOTE = f"""\
One run for every cell (recipe, profile, context) of Vigil's nightly runs. A step is a night: this is where drift is seen.

- The metric under its own name: the mean over the night's seeds. A gap: the cell gave no number that night.
- `band_low`, `band_high`: what the reference lets that mean be. Each run's description links to the chart of all three.
- `verify_worst_ratio`: how far the worst tensor of one training step was from what is expected, in noise floors.

Tags are those of the last night, to filter by:

{_CONTEXT_TAGS}
- `verdict`: on the mean of the last night, or `regressed` or `failed:...` where a verified step was.
  `tags.verdict = 'regressed'` finds what is wrong now.
- `night`, `number`: the last night, and its step. `seeds`: how many seeds it had.
- `metric`, `unit`, `direction`: what is charted, and whether higher or lower is better.
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
