"""Kubectl's JSONPath: parsed, compiled, evaluated on JSON without decoding the rest, and printed."""
