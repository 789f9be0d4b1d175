"""The project: settings, database, web surface and processes. It composes the apps; no app imports it."""
