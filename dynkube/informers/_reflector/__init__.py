"""The reflector: lists and watches one collection, and recovers from failures."""
