"""What drifts, since when, and how sure: pure functions on the frames of a history (vigil/tracking/history.py).

`series` makes the series of each cell, `steps` holds the statistics of one step in a series and where it began, `questions` asks
three of each cell, `bits` tells numbers that moved from numbers that are worse, `siblings` says who else moved, and `findings`
puts it together. docs/drift.md says why it is done so, docs/drift-tables.md how often it is right.
"""
