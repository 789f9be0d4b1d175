"""Formats of dates and times, by language: the same everywhere, sortable, and the day never in doubt."""
