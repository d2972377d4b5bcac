"""What readers of sentences share: what speaks for a sentence, by its words and by its vector."""
