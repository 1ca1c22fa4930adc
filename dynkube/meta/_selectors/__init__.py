"""Label and field selectors, parsed and matched as API servers do."""
