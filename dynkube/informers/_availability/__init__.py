"""Determine whether a resource is served: observed sources, and a verdict on them."""
