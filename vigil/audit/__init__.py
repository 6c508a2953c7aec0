"""The audit of frameworks: public operators against definitions in float64, where recipes do not go."""
