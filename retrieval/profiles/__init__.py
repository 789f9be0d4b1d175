"""Named, versioned bundles of strategies, weights and deadlines."""
