"""Methods that group terms into sets, ours and others', under one protocol."""
