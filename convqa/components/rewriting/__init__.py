"""What rewriters share that have a text written: what was said before, how it is shown, what is made of the text."""
