"""Statistics: pure functions on lists of numbers, each held to its nominal rates by a simulation in `benchmarks/`."""
