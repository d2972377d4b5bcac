"""Models of transformers, run by torch (the extra ``models``). Only what needs torch imports from here."""
