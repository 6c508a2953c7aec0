"""The conductor: reads recipes, starts runners, judges their numbers. It imports no deep-learning framework."""

__version__ = "0.1.0"
