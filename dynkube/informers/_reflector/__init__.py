"""The reflector: lists and watches one collection, recovers from failures, and reports to a sink."""
