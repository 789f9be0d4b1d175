"""What is done because time has passed: each sweep finds what is due and settles it, and finds nothing the next time.

There is none for volatility: how fresh a fact is, is computed against the time of the question (``facts.freshness``).
"""
