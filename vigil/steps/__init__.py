"""A user's own training step, held against float64: no recipe declares it."""
