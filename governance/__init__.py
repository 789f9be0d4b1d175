"""Who may see, decide and forget: keys, gates, reviews, consents and erasure."""
