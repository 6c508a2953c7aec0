"""What a traced process writes down: records, their digests, and what is asked of it."""
