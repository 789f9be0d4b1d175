"""Rerankers: models that read a question together with a text and say how well one answers the other."""
