"""Scenarios: read, overridden, and what is said of them before a run."""
