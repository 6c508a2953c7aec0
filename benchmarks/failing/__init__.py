"""Scripts that fail for real, in tables of text, and what they left: made and measured by benchmarks/failures.py."""
