"""Kubectl's JSONPath: parser, compiler, evaluation on encoded JSON, and output."""
