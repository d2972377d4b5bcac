"""TREC topics: iKAT and CAsT conversations, and the topics of RAG."""
