"""`python -m fuzz TARGET --minutes 10`: look for inputs that a reader is not ready for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fuzz.runner import HERE, TARGET_NAMES, fuzz_process, fuzz_target, replay


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", nargs="?", choices=TARGET_NAMES, metavar="TARGET")
    parser.add_argument("files", nargs="*", type=Path, help="inputs to run once, such as findings")
    parser.add_argument("--minutes", type=float, default=10, help="of CPU time")
    parser.add_argument("--out", type=Path, default=HERE, help="for the folders found and corpus")
    parser.add_argument("--list", action="store_true", help="the targets")
    parser.add_argument("--process", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.list or asked.target is None:
        print("\n".join(TARGET_NAMES))
        return 0
    if asked.files:
        return replay(asked.target, asked.files)
    if asked.process is not None:
        fuzz_process(asked.target, asked.process, asked.out)
    return fuzz_target(asked.target, asked.minutes, asked.out)


if __name__ == "__main__":
    sys.exit(main())
