"""`vigil verify`: one training step at a time against a float64 oracle, and the first wrong tensor by name."""
