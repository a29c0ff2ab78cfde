"""Campaigns: which cases run, where, in which order, at what cost, and what is shown meanwhile."""
