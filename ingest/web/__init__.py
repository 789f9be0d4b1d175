"""What comes from the web: pages that messages name or callers ask for, and the results of web searches."""
