"""Embedders: what turns text into vectors, one module per provider."""
