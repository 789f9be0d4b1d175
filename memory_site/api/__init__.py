"""The HTTP surface's plumbing: who is asking, how errors and answers look, limits, and where every endpoint is."""
