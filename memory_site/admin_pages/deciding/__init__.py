"""What the pages of conflicts and reviews have in common: what is asked, what lies around it, and what has changed."""
