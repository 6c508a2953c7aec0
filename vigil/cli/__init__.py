"""The command line: one file a verb, each with `add_parser` and `run`."""
