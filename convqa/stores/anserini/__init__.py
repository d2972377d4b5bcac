"""Lucene indexes that Anserini made, as shared tasks hand them out: read only."""
