"""Kills and restarts servers, and restores them from a backup, and checks that informers send no false events.

``python -m benchmarks.restarts --help``
"""
