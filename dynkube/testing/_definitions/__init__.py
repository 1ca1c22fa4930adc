"""CustomResourceDefinitions: checked, accepted, established, served, taken down."""
