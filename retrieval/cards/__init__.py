"""Cards: summaries built of facts without a model, kept up to date by the worker, served when nothing is asked."""
