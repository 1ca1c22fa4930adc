"""Reverse proxy that injects faults in front of a real API server."""
