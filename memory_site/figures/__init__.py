"""The page of figures: its period, its tables, and the charts drawn of them."""
