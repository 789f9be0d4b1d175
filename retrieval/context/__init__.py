"""The context call: what a reader gets for a question, within a budget."""
