"""Columns that `init` proposes for tables with headers of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synsetmine.errors import DataError
from synsetmine.kb import read_kb
from synsetmine.pipeline.proposal import propose_corpus, propose_kb, propose_list
from tests.support.corpusfiles import store
from tests.support.kbfiles import content_of
from tests.support.officefiles import write_sheet

LONG = "A disease of the heart in which its muscle dies for lack of blood."
HEART = ("heart attack", "myocardial infarction", "MI")


def read_as_proposed(path: Path) -> dict[str, tuple[str, ...]]:
    proposal = propose_kb(path)
    assert proposal is not None
    return content_of(read_kb(path, **proposal.settings))


@pytest.mark.parametrize(
    ("table", "settings", "content"),
    [
        (  # the columns that are known without a proposal
            "id,name,synonyms,definition\nD1,heart attack,myocardial infarction|MI,x\n",
            {"id_field": "id", "name_field": "name", "names_field": ["synonyms"]},
            {"D1": HEART},
        ),
        (  # as BioPortal writes them
            "Class ID,Preferred Label,Synonyms,Definitions,Obsolete,CUI\n"
            f"http://x/1,heart attack,myocardial infarction|MI,{LONG},false,C1\n",
            {"id_field": "Class ID", "definition_field": "Definitions", "separator": "|"},
            {"http://x/1": HEART},
        ),
        (
            "SKU;Product name;Also known as;Price\n1;heart attack;myocardial infarction, MI;2,5\n",
            {"id_field": "SKU", "names_field": ["Also known as"], "separator": ", "},
            {"1": HEART},
        ),
        (  # several columns of names, and camel case
            "conceptId,prefLabel,altLabel,Abbreviation\n7,heart attack,myocardial infarction,MI\n",
            {"id_field": "conceptId", "names_field": ["altLabel", "Abbreviation"]},
            {"7": HEART},
        ),
        (  # headers that say nothing
            f"A1,Bezeichnung,Weiteres,Text\nX-1,heart attack,myocardial infarction; MI,{LONG}\n"
            f"X-2,fever,,{LONG}\n",
            {"id_field": "A1", "definition_field": "Text", "separator": ";"},
            {"X-1": HEART, "X-2": ("fever",)},
        ),
        (  # no ids: the name is the id
            "Krankheit,Umsatz\nheart attack,12.5\nfever,9\n",
            {"id_field": "Krankheit", "name_field": "Krankheit"},
            {"heart attack": ("heart attack",), "fever": ("fever",)},
        ),
        (  # all names in one cell
            "synonyms\nheart attack|myocardial infarction|MI\nfever|pyrexia\n",
            {"id_field": "synonyms", "name_field": "synonyms", "names_field": ["synonyms"]},
            {"heart attack": HEART, "fever": ("fever", "pyrexia")},
        ),
        (  # one row a name, of which one is preferred
            "code,term,preferred\n1,myocardial infarction,no\n1,heart attack,yes\n1,MI,no\n",
            {"id_field": "code", "name_field": "term"},
            {"1": HEART},
        ),
    ],
)
def test_a_table_is_read_by_its_proposal(
    tmp_path: Path, table: str, settings: dict[str, Any], content: dict[str, tuple[str, ...]]
) -> None:
    path = store(tmp_path, table, "x.csv")
    proposal = propose_kb(path)
    assert proposal is not None
    assert settings.items() <= dict(proposal.settings).items()
    assert read_as_proposed(path) == content
    delimiter = ";" if ";" in table.splitlines()[0] else ","
    rows = [line.split(delimiter) for line in table.splitlines()]
    if delimiter == "," and "definition_field" not in settings:  # cells without commas
        for other in (
            write_sheet(tmp_path / "x.xlsx", rows),
            store(tmp_path, "\n".join("\t".join(row) for row in rows), "x.tsv"),
        ):
            assert read_as_proposed(other) == content


def test_line_breaks_separate_names_in_a_sheet(tmp_path: Path) -> None:
    rows: list[list[object]] = [["Term", "Synonyms"], ["heart attack", "\n".join(HEART[1:])]]
    rows.append(["fever", None])
    path = write_sheet(tmp_path / "x.xlsx", rows)
    assert read_as_proposed(path) == {"heart attack": HEART, "fever": ("fever",)}


def test_the_sentence_names_what_is_taken_and_what_is_not(tmp_path: Path) -> None:
    path = store(tmp_path, "code,label,syn,Synonym,price\n1,a,x,b;c,2\n", "x.csv")
    proposal = propose_kb(path)
    assert proposal is not None
    assert proposal.sentence == (
        f"{path}: id 'code', name 'label', other names 'Synonym', separated by ';'; "
        "not used: 'syn', 'price'"
    )


def test_a_table_without_names_is_an_error(tmp_path: Path) -> None:
    path = store(tmp_path, "a,b\n1,2\n3,4\n", "x.csv")
    for propose in (propose_kb, propose_list, propose_corpus):
        with pytest.raises(DataError, match=r"x\.csv: no column with \w+; found: 'a, b'"):
            propose(path)
    with pytest.raises(DataError, match=r"y\.csv: the table has no rows"):
        propose_kb(store(tmp_path, "", "y.csv"))


def test_other_files_have_no_columns(tmp_path: Path) -> None:
    rules = store(tmp_path, "heart attack, MI\nfever => pyrexia\n", "synonyms.txt")
    assert propose_kb(rules) is propose_list(rules) is propose_corpus(rules) is None


def test_columns_of_lists_and_corpora(tmp_path: Path) -> None:
    path = store(tmp_path, f"nr,Überschrift,Inhalt\n1,Heart attack,{LONG}\n", "x.csv")
    listed, corpus = propose_list(path), propose_corpus(path)
    assert listed is not None
    assert corpus is not None
    assert listed.settings == {"name_column": "Überschrift"}
    assert corpus.settings == {"text_field": "Inhalt", "id_field": "nr"}
    path = store(tmp_path, f"PMID,title,abstract\n1,Heart attack,{LONG}\n", "y.csv")
    corpus = propose_corpus(path)
    assert corpus is not None
    assert corpus.settings["text_field"] == "title,abstract"
