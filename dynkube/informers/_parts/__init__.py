"""The parts of a cache: one for each list and watch."""
