"""Small inputs that cost much: what each of them does, in a process of its own with a limit on its memory."""
