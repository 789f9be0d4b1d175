"""Governance over HTTP: conflicts, reviews, feedback, forgetting and keys. Thin: parse, call one service, present."""
