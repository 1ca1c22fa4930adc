"""The verbs of a resource client, by what they do."""
