"""A proxy on the loopback that gives a real API server the faults that the embedded one has."""
