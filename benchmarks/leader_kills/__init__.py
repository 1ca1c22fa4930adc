"""Kills and stops the leader of an operator with leader election, and checks that no write is sent without the lease.

``python -m benchmarks.leader_kills --help``
"""
