"""Text: tokens, names in texts, phrases, sentences, and what a corpus says of names."""
