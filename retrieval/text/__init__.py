"""Words of a question: how they are matched, dated and counted."""
