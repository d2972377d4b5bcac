"""TREC topics: the conversations of iKAT and CAsT, and the topics of RAG."""
