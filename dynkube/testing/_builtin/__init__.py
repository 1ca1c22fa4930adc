"""Built-in kinds of a kube-apiserver: defaults, fields set by the server, validation.

Each module covers kinds that belong together, with functions for defaults and validation, and a table of the kinds
they apply to. Messages and the order of causes are those of kube-apiserver 1.36. The checks cover the mistakes that
users make most, so an object with a rare mistake may be accepted here.
"""
