"""The cache of one collection: its objects, indexes, and the inbox of the task that owns it."""
