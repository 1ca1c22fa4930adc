"""Rules of built-in kinds: defaults, server-set fields, validation, warnings.

Each module has the functions for a few related kinds, and most have a table ``RULES`` of these kinds. Messages and the
order of causes are those of kube-apiserver 1.36. Validation is not complete: it covers the most common mistakes, so an
object with a rare mistake may be accepted here.
"""
