"""What the language English knows: one lexicon, and the grammar of questions, conditions and rules."""
