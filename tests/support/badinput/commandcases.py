"""Bad options, places that cannot be written, folders of others."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.optioncases import OPTION_CASES
from tests.support.badinput.placecases import PLACE_CASES
from tests.support.badinput.runcases import RUN_CASES

COMMAND_CASES: tuple[Case, ...] = (*OPTION_CASES, *PLACE_CASES, *RUN_CASES)
