"""The names in facts: an internal index that can be built anew at any time. Nothing of it reaches any surface."""
