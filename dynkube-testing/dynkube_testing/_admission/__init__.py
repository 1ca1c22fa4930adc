"""Admission plugins, in the order of kube-apiserver."""
