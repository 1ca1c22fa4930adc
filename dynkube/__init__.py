"""dynkube."""
