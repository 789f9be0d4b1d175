"""The search: strategies side by side, fused, reranked and served."""
