"""What the builder ``generative`` is made of: asking, the prompt, reading the reply, checking what it says."""
