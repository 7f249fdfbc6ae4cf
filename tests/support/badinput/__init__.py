"""Bad input of every kind: what a command says to it, and that it leaves nothing behind."""
