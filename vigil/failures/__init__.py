"""Triage: which sort of failure one is, by evidence first, and whether another try can help. It runs nothing.

categories: the sorts, and what to do. tracebacks: the exceptions in a log, and which of a chain decides. rules: from an exception
to its category. triage: from all evidence to the answer. retries: the chance that another try helps, and what it is worth. past:
what nights tried again.
"""
