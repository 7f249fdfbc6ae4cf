"""The page of a report: what it tells, for everyone, and with little or broken findings."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.linking.supervision import Tally
from synsetmine.pipeline.report.findings import (
    Epochs,
    Findings,
    HeldOutScore,
    Penalties,
    StageSummary,
)
from synsetmine.pipeline.report.page import write_report
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from synsetmine.types import Scope
from tests.support.findings import PENALTIES, medical_sets, sample
from tests.support.pages import Page, read_back

mined_terms = st.builds(
    MinedTerm,
    text=st.text(min_size=1, max_size=3),
    count=st.integers(0, 3),
    action=st.sampled_from(["seed", "joined", "opened", "no vector"]),
    known=st.booleans(),
    probability=st.none() | st.floats(0, 1),
)
mined_sets = st.builds(
    MinedSet, id=st.text(min_size=1, max_size=2), terms=st.lists(mined_terms, max_size=4).map(tuple)
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page.of(tmp_path_factory.mktemp("page"), sample())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


# --- The page ---------------------------------------------------------------------------------


def test_the_page_tells_the_main_figures(page: Page) -> None:
    figures: dict[str, str] = {}
    for name, value in pairwise(page.all("dt", "dd")):
        if name.tag == "dt" and value.attributes.get("class") == "figure":
            figures.setdefault(name.text, value.text)
    assert figures["New names"] == "6"
    assert figures["Unknown terms in groups"] == "5"
    assert "in 2 groups" in page.text
    assert figures["Unknown terms that stand alone"] == "1"
    assert figures["Known names"] == "5"
    *parts, total = list(figures.values())[:5]
    assert sum(map(int, parts)) == int(total) == sample().term_count
    assert "the sum, in 7 sets" in page.text
    assert figures["ARI"] == "0.847 ± 0.011"
    assert "6 new names for 3 entities; 3 with probability 0.9 or more" in page.text
    assert "9 March 2025, 14:05 UTC" in page.text


def test_what_was_found_comes_first_and_what_to_expect_of_it(page: Page) -> None:
    ids = [section.attributes["id"] for section in page.all("section")]
    assert ids == ["names", "groups", "quality", "sets", "measures", "outcome", "input", "links"]
    expected = (
        "What to expect: of 3 at 0.9 and above, about 3 right; "
        "of 6 at 0.5 and above, about 5 right."
    )
    assert expected in " ".join(page.all("section")[0].text.split())
    folded = [e for e in page.all("details") if e.attributes.get("class") == "fold"]
    assert len(folded) == 4
    assert not any("open" in e.attributes for e in folded)
    assert "agreement on pairs of terms beyond chance" in page.with_id("measures").text


def test_two_sentences_and_a_plot_say_how_good_the_probabilities_are(page: Page) -> None:
    said = (
        "In a rehearsal, 1,200 known names were hidden and looked for: at 0.9 and above, 55 % of "
        "them were found, and 99.6 % of these joined their own entity. Counting names whose entity "
        "had been removed too, of which 1.2 % joined another entity, 94 % of what had 0.9 or more "
        "was right, and a probability is 1.2 percentage points off on average."
    )
    assert said in page.text
    (plot,) = [
        e for e in page.all("svg") if "Reliability" in (e.attributes.get("aria-label") or "")
    ]
    assert "0.04 at 0.05, 0.94 at 0.96" in (plot.attributes["aria-label"] or "")
    rows = [" ".join(row.text.split()) for row in page.all("tr")]
    assert "0.9 and above99.6 %55 %33" in rows
    assert "0.960.94700" in rows
    assert rows.index("0.9 and above99.6 %55 %33") < rows.index("0.5 and above91 %84 %65")


FIRST_OF_SAME = ("Heart Failure", "Hypertension", "Myocardial Infarction")


def test_new_names_and_groups_of_unknown_terms_are_listed_apart(page: Page) -> None:
    first, second = page.all("section")[:2]
    assert second.attributes["id"] == "groups"
    names = re.findall(r"> ?0\.99|0\.\d\d", first.text.partition("In the corpus")[2])
    known = [[t.probability for t in s.terms if t.probability] for s in medical_sets() if s.entity]
    by_entity = sorted((sorted(values, reverse=True) for values in known if values), reverse=True)
    expected = [round(p, 2) for values in by_entity for p in values]
    assert [float(name) for name in names] == expected
    assert "6 new names of 3 entities: exact names first, then by probability" in first.text
    told = "Myocardial Infarction D009203heart attacksPMID21 We followed 66"
    assert told in " ".join(first.text.split())
    same = [row.text for row in page.all("tr") if row.attributes.get("class") == "same"]
    assert len(same) == 3
    assert all(row.startswith(name) for row, name in zip(same, FIRST_OF_SAME, strict=True))
    assert "ASA" not in first.text
    assert "2 groups, those that a sentence states first" in second.text
    assert "CHF" not in second.text
    assert "ankle oedema, swollen ankles" in " ".join(second.text.split())


@given(sets=st.lists(mined_sets, max_size=5, unique_by=lambda mined: mined.id))
def test_every_term_is_counted_once(sets: list[MinedSet]) -> None:
    findings = replace(empty(), sets=sets)
    assert sum(findings.outcomes.values()) == findings.term_count
    assert findings.outcomes.get("New names of known entities", 0) == len(findings.new_names)
    grouped = sum(len(mined.terms) for mined in findings.groups)
    assert findings.outcomes.get("Unknown terms in groups", 0) == grouped
    assert findings.sets_with_new_names == sum(
        any(t.action == "seed" for t in s.terms) and any(t.action != "seed" for t in s.terms)
        for s in sets
    )


def test_the_page_tells_what_went_in_and_what_was_dropped(page: Page) -> None:
    rows = [" ".join(row.text.split()) for row in page.all("tr")]
    assert "link 512,345 mentions6.2 s" in rows
    assert "train1 min 24 s" in rows
    assert "mine1 h 3 min" in rows
    assert "not UTF-8abstracts.jsonl.gz:12: not UTF-8: b'caf\\xe9'3" in rows
    kept, *dropped = [row for row in rows if "linked to" in row]
    assert kept == "Kept heart attack → linked to Myocardial Infarction 58× 9,211402,112"
    assert dropped[1] == "Dropped: seen too seldom CHF → linked to D999999 1× 4,1204,120"
    assert "0.847 ± 0.011" in page.text


def test_the_training_of_the_default_model_is_shown_by_penalty(folder: Path) -> None:
    page = Page.of(folder, sample(training=PENALTIES))
    (curve,) = [e for e in page.all("svg") if "penalty" in (e.attributes.get("aria-label") or "")]
    assert "The penalty chosen is 10." in (curve.attributes["aria-label"] or "")
    best = [row.text for row in page.all("tr") if row.attributes.get("class") == "best"]
    assert "100.7000" in best
    assert "training sets by penalty" in page.text
    assert "epoch" not in page.text


def test_the_first_sets_stand_in_the_page_itself(folder: Path) -> None:
    many = [
        MinedSet(f"c{i}", (MinedTerm(f"a{i}", i, "opened", True), MinedTerm(f"b{i}", 0, "", True)))
        for i in range(250)
    ]
    rows = [e for e in Page.of(folder, sample(sets=many)).all("tr") if "id" in e.attributes]
    assert [row.attributes["id"] for row in rows] == [f"set-c{i}" for i in range(249, 149, -1)]
    small = Page.of(folder, sample())
    rows = [e for e in small.all("tr") if "id" in e.attributes]
    assert rows[0].attributes["id"] == "set-D006973"
    shown = " ".join(rows[0].text.split())
    assert shown.startswith("Hypertension D006973 hypertension high blood pressure 0.97 raised")
    assert shown.endswith("raised blood pressure 0.81 (not in the knowledge base) 30.81987")
    assert len(rows) == 5  # of seven: two have one term


def test_sets_of_one_are_listed_where_there_are_no_others(folder: Path) -> None:
    page = Page.of(folder, sample(sets=medical_sets()[3:4]))
    assert page.with_id("set-D003920")
    assert "no set has two or more terms" in page.text


def test_the_data_in_the_page_are_the_findings(page: Page) -> None:
    findings = sample()
    assert read_back(page) == list(findings.sets)
    data = page.json("data")
    assert data["threshold"] == 0.5
    assert data["sets"][0]["name"] == "Myocardial Infarction"
    assert "entity" not in data["sets"][-1]


def test_kind_relation_and_evidence_of_a_name(folder: Path) -> None:
    evidence = Sentence("d1", "heart failure (HF)", 15, 17, "abbreviation")
    example = Sentence("d2", "HF is rare", 0, 2)
    joined = MinedTerm("HF", 2, "joined", False, 0.9, sentences=(example,))
    told = replace(
        joined,
        kind="abbreviation",
        relation="exact",
        nearest="heart <failure>",
        evidence=(evidence,),
    )
    other = replace(joined, text="weak", kind="other-words", relation="narrow")
    seed = MinedTerm("heart failure", 3, "seed", True)
    page = Page.of(folder, sample(sets=[MinedSet("D1", (seed, told, other), "D1")]))
    records = page.json("data")["sets"][0]["terms"]
    assert [record.get("about") for record in records] == [
        None,
        "abbreviation of “heart <failure>”, means the same",
        "other words, narrower",
    ]
    assert page.json("sentences-0")[0][1] == [
        ["d1", "heart failure (", "HF", ")", "abbreviation"],
        ["d2", "", "HF", " is rare"],
    ]
    (item,) = [e for e in page.all("li") if e.text.startswith("HF ")]
    assert "abbreviation of “heart <failure>”, means the same" in item.text


def test_exact_names_come_before_more_probable_related_ones() -> None:
    def known(number: int, probability: float, relation: Scope) -> MinedSet:
        seed = MinedTerm(f"name {number}", 1, "seed", True)
        joined = MinedTerm(f"new {number}", 1, "joined", False, probability, relation=relation)
        return MinedSet(f"D{number}", (seed, joined), f"D{number}")

    sets = [known(1, 0.95, "related"), known(2, 0.6, "exact"), known(3, 0.9, "exact")]
    order = [term.text for _, term in replace(empty(), sets=sets).new_names]
    assert order == ["new 3", "new 2", "new 1"]


def test_ids_of_documents_lead_to_their_pages(folder: Path) -> None:
    sentences = (Sentence("399296", "HF is rare", 0, 2), Sentence("javascript:x", "HF", 0, 2))
    joined = MinedTerm("HF", 2, "joined", False, 0.9, sentences=sentences)
    seed = MinedTerm("heart failure", 3, "seed", True)
    sets = [MinedSet("D1", (seed, joined), "D1")]
    address = "https://pubmed.ncbi.nlm.nih.gov/399296"
    page = Page.of(folder, replace(sample(sets=sets), document_prefix="PMID"))
    assert page.json("sentences-0")[0][1] == [
        ["399296", "", "HF", " is rare", "", address],
        ["javascript:x", "", "HF", ""],
    ]
    assert address in [link.attributes.get("href") for link in page.all("a")]
    assert address not in str(Page.of(folder, sample(sets=sets)).json("sentences-0"))


def test_sentences_come_in_blocks(folder: Path) -> None:
    sets = [
        MinedSet(
            f"c{i}", (MinedTerm("x", 1, "opened", True, sentences=(Sentence("d", "x", 0, 1),)),)
        )
        for i in range(450)
    ]
    page = Page.of(folder, sample(sets=sets))
    blocks = [e for e in page.all("script") if str(e.attributes.get("id")).startswith("sentences")]
    assert [len(json.loads(block.text)) for block in blocks] == [200, 200, 50]
    assert read_back(page) == sets


# --- A page for everyone ----------------------------------------------------------------------


def test_ids_are_unique_and_references_lead_somewhere(page: Page) -> None:
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(set(ids)) == len(ids)
    for element in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "aria-controls", "for"):
            assert set((element.attributes.get(name) or "").split()) <= set(ids)
        if element.tag == "a":
            assert (element.attributes["href"] or "")[1:] in ids


def test_headings_labels_and_tables_say_what_they_are(page: Page) -> None:
    levels = [int(e.tag[1]) for e in page.all("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))
    assert page.all("html")[0].attributes["lang"] == "en"
    assert page.all("title")[0].text == "Names of diseases and drugs · synsetmine report"
    assert all(e.attributes.get("scope") in {"col", "row"} for e in page.all("th"))
    assert len(page.all("main")) == 1
    assert all(
        "aria-label" in e.attributes or e.attributes.get("aria-hidden") == "true"
        for e in page.all("svg", "nav")
    )
    labelled = {e.attributes.get("for") for e in page.all("label")}
    boxes = {"several", "fresh"}  # which stand inside their labels
    assert {e.attributes["id"] for e in page.all("input", "select")} == (labelled - {None}) | boxes


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(page: Page, scheme: str) -> None:
    style = page.all("style")[0].text
    blocks = re.findall(r"^@media \(prefers-color-scheme: dark\) \{\n.*?^\}", style, re.M | re.S)
    if scheme == "light":
        blocks = re.findall(r"^:root \{\n.*?^\}", style, re.M | re.S)
    colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(blocks)))
    on = {
        "page": ["ink", "quiet", "accent"],
        "card": ["ink", "quiet", "accent", "new", "b", "c"],
        "soft": ["accent", "ink", "quiet", "new"],
        "new-soft": ["new", "ink"],
    }
    for ground, inks in on.items():
        for ink in inks:
            assert contrast(colour[ink], colour[ground]) >= 4.5, f"{ink} on {ground}"
    for shape in ("edge", "accent", *(f"k{i}" for i in range(10))):
        assert contrast(colour[shape], colour["card"]) >= 3, shape


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# --- Little, broken and interrupted -----------------------------------------------------------


def empty() -> Findings:
    nothing = Tally(0, 0, ())
    return Findings(
        title="Empty",
        version="1",
        created="not a time",
        inputs=[],
        stages=[],
        skipped=[],
        kept=nothing,
        dropped={},
        entity_names={},
        training=Epochs([], 0, "ARI"),
        scores=[],
        thresholds=[],
        threshold=0.5,
        sets=[],
        points=[],
    )


def test_a_run_without_anything_still_has_a_page(folder: Path) -> None:
    page = Page.of(folder, empty())
    assert page.text.count("Nothing to show") == 8
    assert "Nothing was left out" in page.text
    assert page.json("data")["sets"] == []
    assert not [e for e in page.all("svg") if e.attributes.get("role") == "img"]


def test_a_training_without_held_out_sets_has_no_curve(folder: Path) -> None:
    page = Page.of(folder, replace(empty(), training=Penalties([], None)))
    assert "Nothing to show: too few sets to hold some out." in page.text


def test_values_that_are_no_numbers_are_left_out(folder: Path) -> None:
    nan, inf = math.nan, math.inf
    term = MinedTerm("a", 1, "joined", False, probability=nan)
    findings = replace(
        empty(),
        training=Epochs([(1, nan, None), (2, inf, nan), (3, 0.5, -inf)], 0, "ARI"),
        scores=[HeldOutScore("ARI", nan, inf)],
        stages=[StageSummary("a", nan), StageSummary("b", 1.0)],
        thresholds=[(0.1, nan, 0.5, 0.5), (0.2, 0.3, 0.4, inf)],
        threshold=nan,
        sets=[MinedSet("c0", (term, term))],
        points=[("a", nan, 0.0, "c0"), ("b", 0.0, inf, "c0"), ("c", 0.0, 0.0, "c0")],
    )
    page = Page.of(folder, findings)
    assert "probability" not in page.json("data")["sets"][0]["terms"][0]
    assert page.json("data")["threshold"] is None
    for element in page.elements:
        assert not re.search(r"\b(?:nan|inf)\b", " ".join(map(str, element.attributes.values())))


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    broken: Any = [*medical_sets(), MinedSet("c9", (None,))]  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        write_report(path, sample(sets=broken))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_the_same_findings_make_the_same_file(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_report(tmp_path / "new" / name, sample())
    one, other = (tmp_path / "new" / name for name in ("a.html", "b.html"))
    assert one.read_bytes() == other.read_bytes()
