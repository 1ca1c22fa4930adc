"""Fault injection for requests and responses."""

from dynkube_testing._faults import (
    rewrites as rewrites,
)  # so that it is an attribute, as dynkube_testing loads it lazily
