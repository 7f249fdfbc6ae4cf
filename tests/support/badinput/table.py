"""All bad input, part by part."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.commandcases import COMMAND_CASES
from tests.support.badinput.newcomercases import NEWCOMER_CASES
from tests.support.badinput.readercases import READER_CASES

CASES: tuple[Case, ...] = (*NEWCOMER_CASES, *READER_CASES, *COMMAND_CASES)
