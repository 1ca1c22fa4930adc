"""Whether a resource is served: the sources that are observed, and the verdict on them."""
