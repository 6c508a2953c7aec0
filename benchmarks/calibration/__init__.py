"""The tables of benchmarks/band_calibration.py: one file a question."""
