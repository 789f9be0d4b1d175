"""Finding, ranking and packing what a reader may see, with a trace of every decision."""
