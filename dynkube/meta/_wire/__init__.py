"""Decoding of API responses: objects, lists, tables, watch events and statuses."""
