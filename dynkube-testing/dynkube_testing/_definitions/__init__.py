"""CRDs: their validation, and the controller that serves their kinds."""
