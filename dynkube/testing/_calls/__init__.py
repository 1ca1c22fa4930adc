"""A call, its options, and the refusals it may meet: the boundary between the wire and the engine."""
