"""CPU, memory and throughput of equal controllers with ``dynkube.controllers`` and with controller-runtime.

``python -m benchmarks.controllers --help``
"""
