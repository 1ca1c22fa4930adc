"""Perturbation testing: run a program against an embedded server that lets it see what clusters can show."""
