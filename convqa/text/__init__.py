"""Language processing without models: tokens, sentences, BM25 and the grammar of English rules."""
