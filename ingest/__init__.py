"""How observations come in and become candidates: capture, extraction, jobs."""
