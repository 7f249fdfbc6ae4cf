"""The command line: thin commands over the library's functions.

Nothing heavy is imported here; each command imports what it needs when it runs, so that
`synsetmine --help` answers at once.
"""

from synsetmine.cli.app import app, main

__all__ = ["app", "main"]
