"""The deciders, one per module. Modules that begin with ``_`` are helpers."""
