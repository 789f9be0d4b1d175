"""Who agreed to be known how widely: consents, and promotions to a wider place."""
