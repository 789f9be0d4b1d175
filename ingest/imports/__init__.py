"""Imports of events in our own form, and of memories that other systems export."""
