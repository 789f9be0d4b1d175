"""The reasoning pass: what follows from what is known, and what of it says the same. Nothing of it is ever evidence."""
