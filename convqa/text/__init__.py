"""Language without models: tokens, sentences, BM25, rules of English."""
