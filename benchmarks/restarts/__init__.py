"""Servers that are killed and started again, or restored from a backup, under informers: no event may be false.

``python -m benchmarks.restarts --help``
"""
