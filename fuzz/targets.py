"""The table of all targets."""

from __future__ import annotations

from fuzz.corpora import CORPORA, PARQUET, WIKIS
from fuzz.names import ASKED, LISTS, OFFICE, PLANS
from fuzz.ontologies import DUMPS, ONTOLOGIES
from fuzz.runs import ANSWERS, RESULTS, SETTINGS
from fuzz.tables import SET_FILES, TABLES, VECTOR_FILES
from fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *(SET_FILES, VECTOR_FILES, TABLES, ONTOLOGIES, DUMPS, CORPORA, WIKIS, PARQUET),
        *(SETTINGS, RESULTS, ANSWERS),
        *(LISTS, OFFICE, PLANS, ASKED),
    )
}
