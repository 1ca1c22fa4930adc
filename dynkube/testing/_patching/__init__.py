"""Patches and apply on plain objects: merge keys, field sets, owners."""
