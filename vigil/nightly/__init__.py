"""A night: the newest release of each framework, every cell that is new since, under a time budget.

cells: what can be looked at. basis: what a verdict stands on. document: night.json. ledger: what earlier nights found.
estimate, plan: how long, and what first. newest, environments: which releases, and where they are. pool: running it. work: one
cell, carried out. outcome: the verdict of a night. conduct: a night from its first line to its last. tracked: nights in MLflow.
"""
