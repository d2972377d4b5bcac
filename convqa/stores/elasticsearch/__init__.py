"""The engine for a server: a collection is an index of Elasticsearch behind an alias, ``elasticsearch://HOST/NAME``."""
