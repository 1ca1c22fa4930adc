"""A watch that reconnects, and the state of the objects that it has emitted."""
