"""Formatting of plain text: escaping, tables, counts and ages."""
