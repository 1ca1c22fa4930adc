"""Build the API servers that tests run on besides the embedded one: `make control-plane`, `make test-cluster`."""
