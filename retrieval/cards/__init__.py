"""Cards: summaries of facts, kept up to date by the worker, compacted at night, served when nothing is asked."""
