"""Turns records into text and tables. Reads what `vigil` has recorded, and runs nothing."""
