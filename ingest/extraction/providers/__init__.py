"""Extraction by a model: one prompt, one answer shape, one way of calling, and an adapter for each provider.

Nothing here touches the database; what a call cost is handed to :class:`~ingest.extraction.providers.calls.Books`.
A provider's client library is imported by its adapter when the first call is made, and nowhere else.
"""
