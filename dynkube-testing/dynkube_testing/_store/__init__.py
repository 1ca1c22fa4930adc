"""Storage of objects: versions, history, documents, selectors, watches, states."""
