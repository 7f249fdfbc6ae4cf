"""From a corpus and a knowledge base to synonym sets with a report.

`project` reads the project file, `run` carries it out; `settings` is light to import.
"""
