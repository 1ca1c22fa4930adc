"""The requests that the verbs send, and decoding of the responses."""
