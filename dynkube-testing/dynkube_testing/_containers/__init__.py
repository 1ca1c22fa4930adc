"""Containers of pods as a test plays them: their logs, and the requests that connect to them."""
