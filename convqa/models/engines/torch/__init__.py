"""Models of transformers, run by torch (the extra ``models``). Imported only where torch is needed."""
