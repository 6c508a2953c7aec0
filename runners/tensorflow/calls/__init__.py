"""The public calls that are audited: one module a family, `CALLS` by operator and public name."""
