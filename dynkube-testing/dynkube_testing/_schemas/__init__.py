"""Schemas of resources: pruning, defaulting, validation, CEL rules."""
