"""Differences between two states of an object, field by field and as text. Pure."""
