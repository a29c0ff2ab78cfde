"""Is it steady? Whether what flows meet still changes over a run: by the times at which they start, a case each."""
