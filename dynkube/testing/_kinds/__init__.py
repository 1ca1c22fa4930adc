"""What is served: the kinds, the built-in ones among them, and the rules for names."""
