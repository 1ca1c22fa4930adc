"""The one history of objects: stored versions, what answers are made of, selections and watches of it."""
