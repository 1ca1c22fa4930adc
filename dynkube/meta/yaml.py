"""YAML as kubectl reads it: YAML 1.1 without tags, within limits on size and expansion."""

from dynkube.meta._yaml.loading import MalformedYAML, dump, load_all, load_document

__all__ = ["MalformedYAML", "dump", "load_all", "load_document"]
