"""The retrievers: one module each, named as in a pipeline; modules that begin with ``_`` are helpers."""
