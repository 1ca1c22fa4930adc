"""YAML 1.1 as go-yaml reads it, within limits."""
