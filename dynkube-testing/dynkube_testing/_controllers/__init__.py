"""Controllers: garbage collection, namespaces, pods, volumes, APIServices, expiry."""
