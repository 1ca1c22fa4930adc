"""What the verbs do: create, update, patch, delete, list, watch."""
