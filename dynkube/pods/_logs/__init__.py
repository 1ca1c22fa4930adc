"""Logs of containers: one container's log over restarts and reconnects, and the logs of many pods as one stream."""
