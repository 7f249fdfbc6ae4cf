"""Grouping names with the sentences in which they stand."""
