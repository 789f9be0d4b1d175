"""Where to set the recall gate for one embedder, measured on a store: questions, distances, a recommendation."""
