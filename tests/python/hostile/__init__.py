"""Hostile inputs by class. Each ends with exit code 2 and a message that names what and where, or with a right answer:
never with a traceback, not at all, or beyond a bound of memory."""
