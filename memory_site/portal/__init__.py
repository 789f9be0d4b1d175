"""The portal ``/me/``: what is held about a person, for that person, and what they may do about it."""
