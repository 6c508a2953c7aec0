"""Releases of frameworks in environments of their own: named, resolved to pins, built once, used again, pruned.

naming: what a person calls a release. installer: uv or pip. resolve: from a name to exact pins, and their key. store: the
environments in the cache, built under a lock. available: releases that can be had, and those that cannot, for many cells.
"""
