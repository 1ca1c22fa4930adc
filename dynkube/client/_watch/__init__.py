"""A watch that reconnects, with the state that it has emitted."""
