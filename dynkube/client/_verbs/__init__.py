"""The verbs of a resource client: read, write, apply, field ownership, and wait."""
