"""Requests of the verbs, and what is read from their responses."""
