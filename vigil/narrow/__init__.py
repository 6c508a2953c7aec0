"""From an alarm to a script that anyone can run, the release that brought it, and the switch that hides it."""
