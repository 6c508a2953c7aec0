"""What a person asks to be run: planned, carried out, judged and tracked."""
