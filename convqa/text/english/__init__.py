"""English: a lexicon, and the grammar of questions, conditions and rule texts."""
