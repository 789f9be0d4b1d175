"""Answering a question from memory: evidence is gathered, a model (or none) is asked, and every citation is checked."""
