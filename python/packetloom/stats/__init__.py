"""Statistics of results, as tables: summaries, curves over time, comparisons by seed, steadiness."""
