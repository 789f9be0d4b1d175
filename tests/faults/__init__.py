"""Faults of the whole program: killed processes, poisoned messages, a database that goes away, workers that race."""
