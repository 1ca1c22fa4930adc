"""The same controllers with ``dynkube.controllers`` and with controller-runtime, on the same servers, in turns.

``python -m benchmarks.controllers --help``
"""
