"""The served kinds, among them the built-in ones, and the rules for names."""
