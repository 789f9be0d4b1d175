"""The database of the project: which servers and roles are used, and what they need for the migrations."""
