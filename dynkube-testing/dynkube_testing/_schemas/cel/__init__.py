"""CEL, as in Kubernetes: syntax, types, costs and evaluation of expressions."""
