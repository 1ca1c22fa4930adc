"""Schemas of resources, and what they do to objects: pruning, defaults, validation, rules in CEL."""
