"""Time and memory of small inputs that are expensive to process, each in its own process with a memory limit."""
