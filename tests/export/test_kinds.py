"""Names chosen by their kind: `choose_entries`, and `export --only` and `--without`."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from synsetmine.cli import app
from synsetmine.errors import DataError, ErrorCounts, SynsetmineError
from synsetmine.export import FORMATS, choose_entries, read_rules
from synsetmine.io.sets import Decision, write_sets, write_trace
from synsetmine.runs import MinedSet, MinedTerm
from synsetmine.text.kinds import KINDS
from synsetmine.types import NameKind, SynonymSets, Term
from tests.support.curationentries import term

SET = MinedSet(
    "D1",
    (
        term("heart failure", count=90, known=True),
        term("Heart Failures", count=9, known=True),
        term("cardiac failures", count=8, known=True),
        term("Cardiac Failure", count=7, known=True),
        term("Failure, Heart", count=6, known=True),
        term("HF", 0.9, count=5),
        replace(term("weak heart", 0.8, count=4), kind="other-words"),
        replace(term("weak hearts", 0.7, count=3), kind="other-words"),
        replace(term("heart-failure", 0.9, count=2), kind="spelling"),
    ),
    "D1",
    "Heart Failure",
)


def names(*kinds: NameKind, found: MinedSet = SET) -> tuple[list[str], dict[str, int]]:
    skipped = ErrorCounts()
    (entry,) = choose_entries([found], min_size=1, kinds=kinds, skipped=skipped)
    return [one.text for one in entry.terms], dict(skipped.counts)


def test_all_kinds_by_default() -> None:
    (entry,) = choose_entries([SET])
    assert [one.text for one in entry.terms] == [one.text for one in SET.terms]


def test_the_plural_of_a_short_form_is_an_inflection() -> None:
    shorts = [replace(term(text, 0.9), kind="abbreviation") for text in ("DC", "DCs")]
    found = MinedSet("D2", (term("dendritic cell", count=9, known=True), *shorts), "D2")
    kinds = [kind for kind in KINDS if kind != "inflection"]
    assert names(*kinds, found=found) == (
        ["dendritic cell", "DC"],
        {"a name of the kind inflection": 1},
    )


def test_one_of_several_inflections_is_left_whether_known_or_new() -> None:
    assert names("abbreviation", "other-words") == (
        ["heart failure", "cardiac failures", "HF", "weak heart"],
        {
            "a name of the kind inflection": 3,
            "a name of the kind word-order": 1,
            "a name of the kind spelling": 1,
        },
    )


def test_a_variant_of_a_name_that_is_left_out_has_the_kind_that_the_run_tells() -> None:
    """A spelling of an inflection is an inflection, and a spelling of an abbreviation is one."""
    terms = (
        term("randomized trial", count=9, known=True),
        term("Randomized Trials", count=8, known=True),
        term("RT", count=7, known=True),
        replace(term("randomised trials", 0.9, count=6), kind="inflection"),
        replace(term("R.T.", 0.8, count=5), kind="abbreviation"),
    )
    found = MinedSet("D1", terms, "D1")
    without_inflections = [kind for kind in KINDS if kind != "inflection"]
    assert names(*without_inflections, found=found)[0] == ["randomized trial", "RT", "R.T."]
    without_abbreviations = [kind for kind in KINDS if kind != "abbreviation"]
    assert names(*without_abbreviations, found=found)[0] == [
        "randomized trial",
        "Randomized Trials",
        "randomised trials",
    ]


def test_the_first_known_term_stays() -> None:
    assert names("abbreviation")[0] == ["heart failure", "HF"]
    assert names()[0] == ["heart failure"]
    frequent = MinedSet("D1", (term("HF", 0.9, count=9), term("heart failure", count=1)), "D1")
    assert names("spelling", found=frequent)[0] == ["heart failure"]
    assert names("abbreviation", found=frequent)[0] == ["HF", "heart failure"]
    opened = MinedSet("s", (term("HF", action="opened"), term("heart failure", 0.9)))
    assert names("spelling", found=opened)[0] == ["HF"]


def test_the_kind_that_the_run_tells_counts_where_it_is_more_alike() -> None:
    """The known name that it is an abbreviation of may not be in the set's corpus."""
    told = replace(term("CF", 0.9), kind="abbreviation")
    found = MinedSet("D1", (term("heart failure"), told))
    assert names("abbreviation", found=found)[0] == ["CF", "heart failure"]
    assert names("other-words", found=found)[0] == ["heart failure"]
    plain = MinedSet("D1", (term("heart failure"), replace(told, kind=None)))
    assert names("other-words", found=plain)[0] == ["CF", "heart failure"]


def test_a_long_form_of_other_words_is_no_abbreviation() -> None:
    """ "DA" also shortens "dopaminergic", but the run says that the new name is other words."""
    short = replace(term("DA", 0.9, count=5), kind="abbreviation")
    long = replace(term("dopaminergic", 0.9), kind="other-words")
    found = MinedSet("D1", (term("dopamine", count=9), short, long))
    assert names("abbreviation", found=found)[0] == ["dopamine", "DA"]
    assert names("other-words", found=found)[0] == ["dopamine", "dopaminergic"]


def test_the_name_in_the_knowledge_base_is_preferred_in_any_case() -> None:
    terms = (term("HF", 0.9, count=9), term("heart failure"), term("Heart failure"))
    (entry,) = choose_entries([MinedSet("D1", terms, "D1", "Heart Failure")])
    assert entry.terms[0].text == "Heart failure"
    exact = MinedSet("D1", (*terms, term("Heart Failure")), "D1", "Heart Failure")
    assert choose_entries([exact])[0].terms[0].text == "Heart Failure"
    assert choose_entries([exact], preferred="frequent")[0].terms[0].text == "HF"


def test_what_was_judged_incorrect_or_is_below_the_threshold_is_no_example() -> None:
    found = MinedSet("s", (MinedTerm("tumor", 9, "joined", False, 0.1), *SET.terms))
    skipped = ErrorCounts()
    kinds: list[NameKind] = ["spelling"]
    (entry,) = choose_entries([found], threshold=0.5, kinds=kinds, skipped=skipped)
    assert [one.text for one in entry.terms] == ["heart failure", "heart-failure"]
    assert "tumor" not in {error.value for some in skipped.examples.values() for error in some}


# --- The command ------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = ["heart failure", "heart failures", "HF", "weak heart"]
    write_sets(Path("sets.jsonl"), SynonymSets.of([map(Term, texts)], ["s1"]))
    Path("counts.tsv").write_text("heart failure\t9\n")
    write_trace(
        Path("trace.jsonl"),
        [
            Decision(Term("heart failure"), None, 0, "opened"),
            Decision(Term("heart failures"), "s1", 0.9, "joined", kind="inflection"),
            Decision(Term("HF"), "s1", 0.9, "joined", kind="abbreviation"),
            Decision(Term("weak heart"), "s1", 0.9, "joined", "other-words", "narrow"),
        ],
    )
    return tmp_path


def export(*arguments: str) -> None:
    app(["export", "sets.jsonl", "--counts", "counts.tsv", *arguments], standalone_mode=False)


def test_kinds_are_left_out_and_counted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--trace", "trace.jsonl", "-f", "solr", "-o", "s.txt"]
    export(*options, "--without", "inflection", "--without", "spelling")
    assert [rule.inputs for rule in read_rules(Path("s.txt"))] == [("heart failure", "HF")]
    told = capsys.readouterr().err
    assert "left out 1: a name of the kind inflection, such as 'heart failures'" in told
    assert "left out 1: a name that is broad, narrow or related, such as 'weak heart'" in told
    export(*options, "--only", "inflection")
    assert [rule.inputs for rule in read_rules(Path("s.txt"))] == [
        ("heart failure", "heart failures")
    ]
    assert "left out 1: a name of the kind abbreviation, such as 'HF'" in capsys.readouterr().err


def test_kinds_are_found_without_a_trace(place: Path) -> None:
    export("-f", "solr", "-o", "s.txt", "--only", "abbreviation", "--only", "other-words")
    assert [rule.inputs for rule in read_rules(Path("s.txt"))] == [
        ("heart failure", "HF", "weak heart")
    ]


def test_every_format_takes_kinds(place: Path) -> None:
    for name in ("csv", "jsonl", "skos", "obo", "ssslm", "spacy", "querqy", "elasticsearch"):
        export("-f", name, "-o", f"x.{name}", "--without", "inflection")
        text = Path(f"x.{name}").read_text("utf-8").casefold()
        assert "hf" in text, name
        assert "heart failures" not in text, name
    assert {"csv", "jsonl", "skos", "obo", "ssslm", "spacy", "querqy"} < set(FORMATS)
    with Path("x.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 3
    assert len(json.loads(Path("x.jsonl").read_text())["terms"]) == 3


@pytest.mark.parametrize("option", ["--only", "--without"])
def test_a_kind_that_is_none(place: Path, option: str) -> None:
    with pytest.raises(DataError, match=f"{option} must be one of {', '.join(KINDS)}: 'plural'"):
        export("-f", "csv", "-o", "x.csv", option, "plural")
    assert not Path("x.csv").exists()


def test_only_one_of_the_two_options(place: Path) -> None:
    with pytest.raises(SynsetmineError, match="--only and --without cannot be combined"):
        export("-f", "csv", "-o", "x.csv", "--only", "spelling", "--without", "inflection")
