"""Processes of an operator with leader election that are killed or stopped: no write may come after the next leader's.

``python -m benchmarks.leader_kills --help``
"""
