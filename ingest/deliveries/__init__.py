"""Sending to Slack, webhooks and mailboxes: asked for in a transaction, sent afterwards, and to nobody who may not be
told."""
