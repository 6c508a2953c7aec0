"""A night: the newest release of each framework, every cell that is new since, under a time budget.

cells: what can be looked at. basis: what a verdict stands on. night_file: night.json. ledger: what earlier nights found.
night_plan: how long, and what first. night_releases: which releases, and where they are. cell_pool: running cells side by side.
cell_work: one cell, carried out. night_verdict: the verdict of a night. conduct: a night from its first line to its last.
night_tracking: nights in MLflow.
"""
