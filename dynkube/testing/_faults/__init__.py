"""Faults on demand: what can happen to a request and its answer, when, and how often."""
