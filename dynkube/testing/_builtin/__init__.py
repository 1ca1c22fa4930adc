"""What a kube-apiserver does about objects of built-in kinds: defaults, what it decides itself, what it refuses.

One module for kinds that belong together, each with functions for completing and checking, and a table that says
which kind they are for. Wordings and orders of causes are those of kube-apiserver 1.36; the checks are those for the
mistakes users make most, so an object with a rare mistake may be accepted here.
"""
