"""Controllers for garbage collection, namespaces, pods, volumes and APIServices."""
