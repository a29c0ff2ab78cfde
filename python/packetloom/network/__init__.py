"""A simulated network that a program sends messages over while it is simulated."""
