"""Measurements of the product against labelled data. Run by hand; no part of the product imports them."""
