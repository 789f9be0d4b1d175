"""Whether something is kept and how widely it is placed without a person."""
