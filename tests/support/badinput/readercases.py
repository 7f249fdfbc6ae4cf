"""Bad input for the readers: corpora, knowledge bases, sets, vectors, models, project files."""

from __future__ import annotations

from tests.support.badinput.corpuscases import CORPUS_CASES
from tests.support.badinput.corpusformcases import CORPUS_FORM_CASES
from tests.support.badinput.filecases import BESIDE_CASES, RUN_CASES
from tests.support.badinput.kbcases import KB_CASES
from tests.support.badinput.namecases import NAME_CASES
from tests.support.badinput.ontologycases import ONTOLOGY_CASES
from tests.support.badinput.plancases import PLAN_CASES
from tests.support.badinput.projectcases import MODEL_CASES, PROJECT_CASES
from tests.support.badinput.querycases import QUERY_CASES
from tests.support.badinput.setcases import SET_CASES
from tests.support.badinput.vectorcases import VECTOR_CASES

READER_CASES = (
    *NAME_CASES,
    *PLAN_CASES,
    *CORPUS_CASES,
    *CORPUS_FORM_CASES,
    *KB_CASES,
    *ONTOLOGY_CASES,
    *SET_CASES,
    *VECTOR_CASES,
    *PROJECT_CASES,
    *MODEL_CASES,
    *BESIDE_CASES,
    *RUN_CASES,
    *QUERY_CASES,
)
