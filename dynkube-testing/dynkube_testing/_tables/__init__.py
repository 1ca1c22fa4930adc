"""Forms of objects in responses: whole objects, metadata only, or tables."""
