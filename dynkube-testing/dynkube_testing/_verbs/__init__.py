"""Implementation of the verbs: create, update, patch, delete, list, watch."""
