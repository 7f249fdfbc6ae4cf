"""`python -m synsetmine`."""

from synsetmine.cli import main

main()
