"""A user's own operator, held against a plain one in float64."""
