"""How people felt, a number for each person and day: entered by themselves, or read out of what was said."""
