"""Reading over HTTP."""
