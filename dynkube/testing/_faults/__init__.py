"""Fault injection for requests and responses."""
