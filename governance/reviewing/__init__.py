"""What waits for people, and what they decide about it."""
