"""Runs the tests on mutants: ``python -m tools.mutants``."""
