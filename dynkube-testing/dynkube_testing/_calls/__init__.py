"""Calls, their options and error responses: the boundary between HTTP and engine."""
