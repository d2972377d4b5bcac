"""The embedded engine: a collection is a folder, and nothing has to be started."""
