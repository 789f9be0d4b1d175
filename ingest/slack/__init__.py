"""Slack: its messages in the shape that Slack gives them, decoded, and delivered to the store.

Decoding (``mrkdwn``, ``blocks``, ``messages``) is pure; an export and a live workspace share it.
"""
