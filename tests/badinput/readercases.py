"""Bad input for the readers: corpora, knowledge bases, sets, vectors, models, project files."""

from __future__ import annotations

from tests.badinput.corpuscases import CORPUS_CASES
from tests.badinput.corpusformcases import CORPUS_FORM_CASES
from tests.badinput.filecases import BESIDE_CASES, RUN_CASES
from tests.badinput.kbcases import KB_CASES
from tests.badinput.namecases import NAME_CASES
from tests.badinput.ontologycases import ONTOLOGY_CASES
from tests.badinput.projectcases import MODEL_CASES, PROJECT_CASES
from tests.badinput.setcases import SET_CASES
from tests.badinput.vectorcases import VECTOR_CASES

READER_CASES = (
    *NAME_CASES,
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
)
