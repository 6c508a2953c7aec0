"""Is it bit for bit the same: short runs of a recipe that differ in one thing alone, held to each other."""
