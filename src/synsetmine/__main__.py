"""`synsetmine` and `python -m synsetmine`."""

import sys


def main() -> None:
    try:
        from synsetmine.cli import main as run_command

        run_command()
    except KeyboardInterrupt:  # while the commands were still being loaded
        sys.exit(130)


if __name__ == "__main__":
    main()
