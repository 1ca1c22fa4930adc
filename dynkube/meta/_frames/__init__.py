"""Typed columns for data frames."""
