"""All bad input, part by part."""

from __future__ import annotations

from tests.badinput.case import Case
from tests.badinput.commandcases import COMMAND_CASES
from tests.badinput.readercases import READER_CASES

CASES: tuple[Case, ...] = (*READER_CASES, *COMMAND_CASES)
