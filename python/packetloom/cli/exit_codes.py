"""Exit codes beside 0: docs/reliability.md says when each comes."""

MISTAKE = 2
STALLED = 3
INVARIANT_VIOLATED = 4
