"""CRDs: validation, accepted names, establishing, serving, deletion."""
