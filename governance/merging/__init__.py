"""Saying that one subject is another one, what that would change, and taking it back."""
