"""Rules of built-in kinds: defaults, server-set fields, validation, warnings.

Each module is about a few related kinds. Its tables have the defaults (``DEFAULTS``) and the validation (``CHECKS``) of
their Go types, which ``typedefaults`` and ``typechecks`` apply wherever the types occur, and the rest of their kinds
(``RULES``). Messages and the order of causes are those of kube-apiserver 1.36. Validation is not complete: an object
with a rare mistake may be accepted here.
"""
