"""Coverage-guided fuzzing of all that reads outside data; README.md says how to run it."""
