"""The cache of one collection: objects, indexes, and the inbox of its owner task."""
