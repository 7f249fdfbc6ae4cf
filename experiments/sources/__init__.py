"""The general model and its rivals on many sources of names: one page."""
