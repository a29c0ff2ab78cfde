"""Exit codes beside 0: docs/results.md says when each comes."""

MISTAKE = 2
STALLED = 3
INVARIANT_VIOLATED = 4
