"""The report of a run: its page, its charts, the sentences and the map in it."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.dictionary import NameMatcher
from synsetmine.errors import DataError
from synsetmine.report import (
    Findings,
    MinedSet,
    MinedTerm,
    Score,
    Sentence,
    Stage,
    find_sentences,
    term_map,
    write_report,
)
from synsetmine.report.charts import size_histogram, size_table, threshold_curve, training_curve
from synsetmine.report.plot import short, tag, ticks
from synsetmine.report.scatter import term_scatter
from synsetmine.report.sentences import sentence_around
from synsetmine.supervision import Tally
from synsetmine.text import normal_form
from synsetmine.types import Link, Term
from synsetmine.views import TermVectors
from tests.strategies import PIECES
from tests.worlds import make_world

quick = settings(max_examples=40, deadline=None)

NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]> & &amp; \" ' ` {{ 7 * 7 }} {% raw %}",
    "line\u2028and\u2029paragraph",
    "\u202eright to left",
    "javascript:alert(1)",
    "👩\u200d👧 naïve 漢字",
)
nasty_texts = st.lists(
    st.sampled_from([*PIECES, *NASTY]) | st.text(min_size=1, max_size=3), min_size=1, max_size=3
).map("".join)

MEDICINE: Mapping[tuple[str, str], Sequence[tuple[str, int, float | None, bool]]] = {
    ("D009203", "Myocardial Infarction"): [
        ("myocardial infarction", 332, None, True),
        ("heart attack", 58, None, True),
        ("heart attacks", 21, 0.93, False),
        ("coronary thrombosis", 9, 0.57, False),
    ],
    ("D006973", "Hypertension"): [
        ("hypertension", 911, None, True),
        ("high blood pressure", 64, 0.9712, True),
        ("raised blood pressure", 12, 0.81, False),
    ],
    ("D006333", "Heart Failure"): [
        ("heart failure", 402, None, True),
        ("cardiac failure", 37, 0.99, True),
        ("CHF", 120, 0.64, False),
    ],
    ("D003920", "Diabetes Mellitus"): [("diabetes mellitus", 254, None, True)],
    ("", "acetylsalicylic acid"): [
        ("acetylsalicylic acid", 44, None, True),
        ("aspirin", 210, 0.72, True),
        ("ASA", 31, 0.515, False),
    ],
    ("", "ankle oedema"): [("ankle oedema", 4, None, False), ("swollen ankles", 2, 0.66, False)],
    ("", "salbutamol"): [("salbutamol", 19, None, False)],
}


def sample(*, sets: Sequence[MinedSet] | None = None) -> Findings:
    """A small run on medical abstracts, with everything that a report can show."""
    mined = medical_sets() if sets is None else sets
    names = {entity: name for entity, name in MEDICINE if entity}
    terms = [(term.text, s.id) for s in mined for term in s.terms][:1500]
    epochs = range(1, 21)
    return Findings(
        title="Names of diseases and drugs",
        version="1.2.3",
        created="2025-03-09T14:05:00+00:00",
        inputs=[("corpus", "abstracts.jsonl.gz, 33,277 documents, 44 MB"), ("names", "mesh.obo")],
        stages=[Stage("link", 6.24, "512,345 mentions"), Stage("train", 83.5), Stage("mine", 3800)],
        skipped=[("not UTF-8", 3, "abstracts.jsonl.gz:12: not UTF-8: b'caf\\xe9'")],
        kept=Tally(9211, 402112, (Link("heart attack", "D009203", 58),)),
        dropped={
            "not a known name of its entity": Tally(2230, 51200, (Link("stroke", "D009203", 12),)),
            "seen too seldom": Tally(4120, 4120, (Link("CHF", "D999999", 1),)),
        },
        entity_names=names,
        history=[
            (e, 0.1 + 0.6 / e, 0.8 - abs(e - 14) / 50 if e % 2 == 0 else None) for e in epochs
        ],
        best_epoch=14,
        select_by="ARI",
        scores=[Score("ARI", 0.8472, 0.0112, "adjusted Rand index"), Score("NMI", 0.97)],
        thresholds=[(i / 10, i / 12, i / 11, i / 13) for i in range(1, 10)],
        threshold=0.5,
        sets=mined,
        points=[(term, math.cos(i), math.sin(3 * i), s) for i, (term, s) in enumerate(terms)],
    )


def medical_sets() -> list[MinedSet]:
    sets = []
    for number, ((entity, _), members) in enumerate(MEDICINE.items()):
        terms = tuple(
            MinedTerm(
                text=text,
                count=count,
                action="joined" if p is not None else "seed" if entity else "opened",
                known=known,
                probability=p,
                sentences=tuple(sentences_with(text, count)),
            )
            for text, count, p, known in members
        )
        sets.append(MinedSet(entity or f"c{number}", terms, entity or None))
    return sets


def sentences_with(term: str, count: int) -> Iterator[Sentence]:
    for number, (before, after) in enumerate(
        [("We followed 66 patients with ", " for a year."), ("Is ", " 😀 on the rise?")]
    ):
        if number < count:
            text = f"{before}{term}{after}"
            yield Sentence(f"PMID{count + number}", text, len(before), len(before) + len(term))


def one_set(text: str) -> MinedSet:
    """A set in which every text is the same one."""
    sentence = Sentence(text, f"{text}{text}{text}", len(text), 2 * len(text))
    return MinedSet(text, (MinedTerm(text, 1, text, False, 0.5, text, (sentence,)),), text)


def findings_with(text: str) -> Findings:
    """A run in which every text that comes from outside is the same one."""
    tally = Tally(1, 1, (Link(text, text, 1),))
    pair = (MinedTerm(text, 2, "opened", False), MinedTerm(f"{text}2", 1, text, False, 0.7))
    return Findings(
        title=text,
        version="1",
        created=text,
        inputs=[(text, text)],
        stages=[Stage(text, 1.0, text)],
        skipped=[(text, 1, text)],
        kept=tally,
        dropped={text: tally},
        entity_names={text: text},
        history=[(1, 0.5, 0.5)],
        best_epoch=1,
        select_by=text,
        scores=[Score(text, 0.5, 0.1, text)],
        thresholds=[(0.5, 0.5, 0.5, 0.5)],
        threshold=0.5,
        sets=[one_set(text), MinedSet(f"{text}2", pair)],
        points=[(text, 0.0, 1.0, text), (text, 2.0, 0.0, text)],
    )


# --- The page ---------------------------------------------------------------------------------


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


class Page(HTMLParser):
    """The elements of a page in their order, each with the text directly in it."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "rect"})

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(source)
        self.close()
        assert not self._open, self._open

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls(path.read_bytes().decode())

    @classmethod
    def of(cls, folder: Path, findings: Findings) -> Page:
        write_report(folder / "report.html", findings)
        return cls.read(folder / "report.html")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute stands twice in {tag}"
        self.elements.append(element)
        if tag not in {"meta", "input"}:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def with_id(self, name: str) -> Element:
        (found,) = [e for e in self.elements if e.attributes.get("id") == name]
        return found

    def json(self, name: str) -> Any:
        return json.loads(self.with_id(name).text)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(e.tag, tuple(sorted(e.attributes))) for e in self.elements]

    @property
    def text(self) -> str:
        return " ".join(self.all("body")[0].text.split())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page.of(tmp_path_factory.mktemp("page"), sample())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def test_the_page_tells_the_main_figures(page: Page) -> None:
    figures: dict[str, str] = {}
    for name, value in pairwise(page.all("dt", "dd")):
        if name.tag == "dt" and value.attributes.get("class") == "figure":
            figures.setdefault(name.text, value.text)
    assert figures["Terms"] == "17"
    assert figures["Sets of two or more"] == "5"
    assert figures["New names"] == "7"
    assert figures["Entities with a new name"] == "3"
    assert figures["ARI"] == "0.847"
    assert "17 terms went in, 5 sets of two or more came out." in page.text
    assert "9 March 2025, 14:05 UTC" in page.text


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
    assert shown.endswith("raised blood pressure 0.81 (new name) 30.81987")
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


def read_back(page: Page) -> list[MinedSet]:
    """The sets as a script reads them from the page."""
    data = page.json("data")
    sets = []
    for number, record in enumerate(data["sets"]):
        block, place = divmod(number, data["block"])
        sentences = page.json(f"sentences-{block}")[place]
        terms = tuple(
            MinedTerm(
                text=term["text"],
                count=term["count"],
                action=term["action"],
                known=term.get("known", False),
                probability=term.get("probability"),
                sense=term.get("sense", ""),
                sentences=tuple(
                    Sentence(document, f"{a}{b}{c}", len(a), len(a) + len(b))
                    for document, a, b, c in found
                ),
            )
            for term, found in zip(record["terms"], sentences, strict=True)
        )
        sets.append(MinedSet(record["id"], terms, record.get("entity")))
    return sets


# --- Nothing from outside becomes markup ------------------------------------------------------


@pytest.fixture(scope="module")
def plain(folder: Path) -> Page:
    return Page.of(folder, findings_with("plain"))


@given(nasty_texts)
@example(NASTY[0])
@example(NASTY[1])
@example(NASTY[2])
@quick
def test_text_from_outside_stays_text(folder: Path, plain: Page, text: str) -> None:
    page = Page.of(folder, findings_with(text))
    assert page.shape == plain.shape
    assert read_back(page) == findings_with(text).sets
    for script in page.all("script")[:-1]:
        assert not re.search("[<>&\u2028\u2029]", script.text)
    assert page.all("script")[-1] == plain.all("script")[-1]
    assert page.all("style") == plain.all("style")
    if text in NASTY:
        assert page.all("h1")[0].text == text


def test_half_a_surrogate_pair_does_not_stop_the_report(folder: Path) -> None:
    page = Page.of(folder, findings_with("a\ud800b"))
    assert page.all("h1")[0].text == "a?b"
    assert read_back(page)[0].terms[0].text == "a?b"


def test_only_the_script_and_the_style_of_the_page_may_run(page: Page) -> None:
    (policy,) = [e for e in page.all("meta") if "http-equiv" in e.attributes]
    assert policy.attributes["http-equiv"] == "Content-Security-Policy"
    (style,) = page.all("style")
    code = [e for e in page.all("script") if e.attributes.get("type") != "application/json"]
    assert len(code) == 1
    assert policy.attributes["content"] == (
        f"default-src 'none'; script-src '{sha256(code[0].text)}'; "
        f"style-src '{sha256(style.text)}'; base-uri 'none'; form-action 'none'"
    )
    # A policy holds only for what comes after it.
    order = [e.tag for e in page.elements]
    assert page.elements.index(policy) < min(order.index("style"), order.index("script"))


def sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_page_loads_nothing(page: Page) -> None:
    for element in page.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on"), f"{element.tag} {name}"
            assert name not in {"style", "src", "srcset", "action", "data", "background"}
            if name in {"href", "xlink:href"}:
                assert (value or "").startswith("#")
    assert not page.all("link", "img", "iframe", "object", "embed", "base", "form", "image", "use")
    (style,) = page.all("style")
    assert not re.search(r"url\(|@import|expression", style.text)
    whole = page.all("html")[0].text
    assert "http:" not in whole
    assert "https:" not in whole


def test_the_script_makes_no_markup_from_data(page: Page) -> None:
    code = page.all("script")[-1].text
    forbidden = "innerHTML|outerHTML|insertAdjacentHTML|document.write|eval|Function|fetch|XMLHttp"
    assert not re.search(rf"\b(?:{forbidden})\b", code)


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
    light, dark = page.all("style")[0].text.split("@media (prefers-color-scheme: dark)", 1)
    source = light if scheme == "light" else dark.split("\n}\n", 1)[0]
    colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", source))
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
        history=[],
        best_epoch=0,
        select_by="ARI",
        scores=[],
        thresholds=[],
        threshold=0.5,
        sets=[],
        points=[],
    )


def test_a_run_without_anything_still_has_a_page(folder: Path) -> None:
    page = Page.of(folder, empty())
    assert page.text.count("Nothing to show") == 6
    assert "nothing was left out" in page.text
    assert page.json("data")["sets"] == []
    assert not [e for e in page.all("svg") if e.attributes.get("role") == "img"]


def test_values_that_are_no_numbers_are_left_out(folder: Path) -> None:
    nan, inf = math.nan, math.inf
    term = MinedTerm("a", 1, "joined", False, probability=nan)
    findings = replace(
        empty(),
        history=[(1, nan, None), (2, inf, nan), (3, 0.5, -inf)],
        scores=[Score("ARI", nan, inf)],
        stages=[Stage("a", nan), Stage("b", 1.0)],
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


# --- Charts -----------------------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)
histories = st.lists(st.tuples(st.integers(0, 10**6), numbers, st.none() | numbers), max_size=80)


def check_drawing(markup: str) -> ET.Element:
    """Well formed, with words for those who cannot see it, and everything where it can be seen."""
    drawing = ET.fromstring(markup)
    if drawing.tag == "p":
        assert drawing.text is not None
        assert drawing.text.startswith("Nothing to show: ")
        return drawing
    assert drawing.attrib["role"] == "img"
    assert len(drawing.attrib["aria-label"]) > 20
    left, top, right, bottom = map(float, drawing.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    places = {"x": right, "x1": right, "x2": right, "cx": right, "width": right}
    places |= {"y": bottom, "y1": bottom, "y2": bottom, "cy": bottom, "height": bottom}
    for element in drawing.iter():
        for name, value in element.attrib.items():
            if name in places:
                assert -1 <= float(value) <= places[name] + 1, f"{element.tag} {name}={value}"
        for x, y in re.findall(r"([^ ,]+),([^ ,]+)", element.attrib.get("points", "")):
            assert 0 <= float(x) <= right
            assert 0 <= float(y) <= bottom
    return drawing


def classes(drawing: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in drawing.iter() if name in e.attrib.get("class", "").split()]


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


@given(histories, st.integers(-1, 10**6))
@example([(3, 0.5, None)], 3)
@example([(1, 5e-324, 1e-310), (2, 0.0, 0.0)], 1)
@example([(1, 1e308, -1e308), (2, -1e308, 1e308)], 1)
@example([(1, 1e99, -1e99), (2, -1e99, 1e99)], 1)
@quick
def test_any_training_can_be_drawn(
    history: list[tuple[int, float, float | None]], best: int
) -> None:
    check_drawing(training_curve(history, best, "a < b"))


def test_the_training_curve_shows_both_lines_and_the_best_epoch() -> None:
    history = [(1, 0.7, None), (2, 0.4, 0.5), (3, 0.3, 0.8), (4, 0.25, 0.6)]
    drawing = check_drawing(training_curve(history, 3, "ARI"))
    assert [words(e) for e in classes(drawing, "name")] == ["validation ARI", "loss"]
    score, loss = classes(drawing, "line")
    assert len(score.attrib["points"].split()) == 3
    heights = [float(place.split(",")[1]) for place in loss.attrib["points"].split()]
    assert heights == sorted(heights)  # the loss falls, and the y of a drawing points down
    (marker,) = classes(drawing, "marker")
    best = loss.attrib["points"].split()[2].split(",")[0]
    assert float(marker.attrib["x1"]) == float(best)
    assert [words(e) for e in classes(drawing, "note")] == ["best: 3"]
    assert drawing.attrib["aria-label"] == (
        "Training curve. The loss goes from 0.7 to 0.25 in epoch 4. "
        "Validation ARI is best in epoch 3 with 0.8."
    )


def test_a_single_epoch_is_seen_as_a_dot() -> None:
    assert len(classes(check_drawing(training_curve([(1, 0.7, 0.5)], 1, "ARI")), "only")) == 2


@given(st.lists(st.integers(0, 300) | st.integers(0, 10**6), max_size=50))
@example([2] * 3 + [150] * 40_000)
@quick
def test_any_sizes_can_be_drawn(sizes: list[int]) -> None:
    check_drawing(size_histogram(sizes))
    assert sum(count for _, count in size_table(sizes)) == sum(size > 1 for size in sizes)


def test_bars_are_as_high_as_they_say() -> None:
    drawing = check_drawing(size_histogram([1] * 500 + [2] * 40 + [3] * 20 + [12] * 10))
    bars = classes(drawing, "bar")
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[0] == pytest.approx(4 * heights[-1], abs=0.2)
    assert [words(e) for e in classes(drawing, "value")] == ["40", "20", "10"]
    assert [words(bar) for bar in bars][-1] == "10 sets of 11–15 terms"
    assert "40 of 2, 20 of 3, 0 of 4" in drawing.attrib["aria-label"]


rows = st.tuples(numbers, numbers, numbers, numbers)


@given(st.lists(rows, max_size=30), numbers)
@example([(0.5, 0.5, 0.5, 0.5)], 0.5)
@example([(0.5, -0.1, 0.5, 0.5)], 7.0)
@quick
def test_any_thresholds_can_be_drawn(
    thresholds: list[tuple[float, float, float, float]], used: float
) -> None:
    check_drawing(threshold_curve(thresholds, used))


def test_the_threshold_curve_has_three_lines_and_the_used_threshold() -> None:
    drawing = check_drawing(threshold_curve([(0.9, 0.1, 0.2, 0.3), (0.1, 0.4, 0.5, 0.6)], 0.5))
    assert [words(e) for e in classes(drawing, "name")] == ["ARI", "FMI", "pair F1"]
    lines = [e for e in classes(drawing, "line") if e.tag == "polyline"]
    assert len(lines) == 3
    for line in lines:  # sorted by θ, whatever the order in which they were tried
        first, last = (float(place.split(",")[0]) for place in line.attrib["points"].split())
        assert first < last
    assert [words(e) for e in classes(drawing, "note")] == ["θ = 0.5"]


points = st.tuples(nasty_texts.map(lambda t: t.replace("\0", "")), numbers, numbers, st.text("ab"))


@given(st.lists(points, max_size=30))
@quick
def test_any_points_can_be_drawn(places: list[tuple[str, float, float, str]]) -> None:
    # XML cannot hold control characters even when escaped; HTML can.
    clean = [(re.sub(r"[^ -\ud7ff\ue000-\ufffd]", "", t), x, y, s) for t, x, y, s in places]
    drawing = check_drawing(term_scatter(clean, {"a": "A & B"}))
    drawn = [p for p in clean if all(math.isfinite(v) and abs(v) < 1e100 for v in p[1:3])]
    assert len([e for e in drawing.iter() if e.tag == "circle"]) == len(drawn)


def test_terms_of_a_set_are_tied_and_named() -> None:
    places = [("x", 0.0, 0.0, "c1"), ("y", 1.0, 1.0, "c1"), ("z", 2.0, 0.5, "c2")]
    drawing = check_drawing(term_scatter(places, {"c1": "Ex", "c2": "z"}))
    assert [words(e) for e in drawing.iter("circle")] == ["z", "x · Ex", "y · Ex"]
    assert [e.attrib["data-set"] for e in drawing.iter("circle")] == ["c2", "c1", "c1"]
    assert len(classes(drawing, "tie")) == 1
    assert [words(e) for e in classes(drawing, "label")] == ["Ex"]


def test_a_map_of_too_many_terms_shows_the_first() -> None:
    drawing = check_drawing(term_scatter([(f"t{i}", i, -i, "c") for i in range(20_000)], {}))
    assert len(list(drawing.iter("circle"))) == 3000
    assert "Map of 3,000 terms." in drawing.attrib["aria-label"]


def test_names_on_the_map_do_not_cover_each_other() -> None:
    crowd = [(f"t{i}", i % 20 / 7, i // 20 / 3, f"c{i // 2}") for i in range(400)]
    drawing = check_drawing(term_scatter(crowd, {f"c{i}": f"a long name {i}" for i in range(200)}))
    boxes = []
    for label in classes(drawing, "label"):
        size = 26 if "first" in label.attrib["class"] else 13
        x, y = float(label.attrib["x"]), float(label.attrib["y"])
        half = len(words(label)) * size * 0.25
        boxes.append((x - half, x + half, y - size, y))
    assert len(boxes) > 5
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart


moderate = st.floats(-1e12, 1e12, allow_subnormal=True)


@given(moderate, moderate, st.integers(2, 10))
@example(0.0, 5e-324, 5)
@example(0.1, 0.1, 5)
@quick
def test_ticks_are_even_and_cover_the_range(one: float, other: float, wanted: int) -> None:
    low, high = min(one, other), max(one, other)
    values = ticks(low, high, wanted)
    steps = [b - a for a, b in pairwise(values)]
    assert values[0] <= low + 1e-6 * steps[0]
    assert values[-1] >= high - 1e-6 * steps[0]
    assert 2 <= len(values) <= wanted + 3
    assert max(steps) == pytest.approx(min(steps), rel=1e-6)
    mantissa = steps[0] / 10 ** math.floor(math.log10(steps[0] * 1.0000001))
    assert min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-5


def test_short_numbers() -> None:
    given_ = [0, -0.0, 0.1 + 0.2, 12, 1500, 12_500, 3_000_000, -2e9]
    assert [short(v) for v in given_] == ["0", "0", "0.3", "12", "1,500", "12.5k", "3M", "-2G"]


def test_elements_are_escaped() -> None:
    assert str(tag("text", "a<b", data_x='"&', x=-0.01)) == (
        '<text data-x="&#34;&amp;" x="0">a&lt;b</text>'
    )
    with pytest.raises(ValueError, match="nan"):
        tag("rect", x=math.nan)


# --- Sentences --------------------------------------------------------------------------------


def found_in(text: str, term: str, longest: int = 300) -> str:
    start = text.index(term)
    sentence = sentence_around("d", text, start, start + len(term), longest)
    assert sentence.text[sentence.start : sentence.end] == term
    return sentence.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One is here. The TERM is there. Another one.", "The TERM is there."),
        ("TERM", "TERM"),
        ("See e.g. TERM. Next one.", "See e.g. TERM."),
        ("Bad.  Diets (e.g. Atkins, i.e. TERM) work. Ok.", "Diets (e.g. Atkins, i.e. TERM) work."),
        ("The U.S. Army used TERM in 1990. Later.", "The U.S. Army used TERM in 1990."),
        ("It began in the U.S. The TERM came later.", "The TERM came later."),
        ("We saw Dr. A. B. Smith, Ph.D. and TERM. End.", "We saw Dr. A. B. Smith, Ph.D. and TERM."),
        ("As Jones et al. Showed. TERM (Fig. 3) rose. So.", "TERM (Fig. 3) rose."),
        ("By Smith et al. The TERM rose.", "The TERM rose."),
        ("It weighed 3.5 kg vs. TERM at 2.1 kg. Then.", "It weighed 3.5 kg vs. TERM at 2.1 kg."),
        ("Is TERM safe? Yes! We think so.", "Is TERM safe?"),
        ("Stop! TERM is bad.", "TERM is bad."),
        ("He said “Use TERM.” Then he left.", "He said “Use TERM.”"),
        ("(It was so.) TERM rose… Then it fell.", "TERM rose…"),
        ("It fell by half. 25 patients had TERM. Ok.", "25 patients had TERM."),
        ("Case No. 5 had TERM on Jan. 3 at 5 p.m. and left.", None),
        ("They said no. TERM won.", "TERM won."),
        ("A title\n\nThe body with TERM goes\non here. End.", "The body with TERM goes on here."),
        ("St. TERM lies at Mt. Fuji. So.", "St. TERM lies at Mt. Fuji."),
        ("它来了。TERM很好。再见。", "TERM很好。"),
        ("pH was 7. low TERM rose.", None),
        ("Version 2.0 of TERM.", None),
    ],
)
def test_sentences_end_where_people_end_them(text: str, sentence: str | None) -> None:
    assert found_in(text, "TERM") == (text if sentence is None else sentence)


def test_a_mark_inside_the_term_ends_nothing() -> None:
    text = "We left. He lives in St. Louis. The river is wide."
    assert found_in(text, "St. Louis") == "He lives in St. Louis."
    text = "He moved to the U.S. The rest stayed."
    assert found_in(text, "U.S") == "He moved to the U.S."


def test_long_sentences_are_cut_around_the_term_at_words() -> None:
    text = "alpha " * 100 + "TERM" + " omega" * 100 + "."
    cut = found_in(text, "TERM", longest=60)
    assert cut.startswith("…alpha alpha")
    assert cut.endswith("omega omega…")
    assert 45 <= len(cut) <= 60
    first = found_in("TERM" + " omega" * 100, "TERM", longest=60)
    assert first.startswith("TERM omega")
    assert 50 <= len(first) <= 60
    last = found_in("alpha " * 100 + "TERM.", "TERM", longest=60)
    assert last.endswith("alpha TERM.")
    assert 50 <= len(last) <= 60
    # A sentence that begins beyond the reach of a look is cut too, never taken for whole.
    assert found_in("x" * 500 + " TERM", "TERM", longest=100).startswith("…")


@given(
    st.lists(
        st.sampled_from(["a", "Bc", "e.g.", "end.", "U.S.", "\n\n", "  ", "é?", "。"]), max_size=60
    ),
    st.lists(
        st.sampled_from(["a", "Bc", "The", "end.", "No.", "5", "\n\n", "\t", "x!"]), max_size=60
    ),
    st.sampled_from(["t", "St. Louis", "x" * 90, "two\nlines"]),
    st.integers(20, 120),
)
@quick
def test_a_sentence_is_a_piece_of_its_text(
    before: list[str], after: list[str], term: str, longest: int
) -> None:
    left, right = " ".join([*before, ""]), " ".join(["", *after])
    found = sentence_around("d", left + term + right, len(left), len(left) + len(term), longest)
    inside = found.text[found.start : found.end]
    assert inside == " ".join(term.split())
    assert len(found.text) <= max(longest, len(inside) + 2)
    whole = " ".join((left + "«" + term + "»" + right).split())
    marked = f"{found.text[: found.start]}«{inside}»{found.text[found.end :]}"
    assert marked.strip("…").strip() in whole


class Texts:
    """A corpus that remembers how far it was read."""

    def __init__(self, batches: Sequence[Sequence[tuple[str, str]]]) -> None:
        self.batches = batches
        self.read = 0

    def __iter__(self) -> Iterator[Sequence[tuple[str, str]]]:
        for batch in self.batches:
            self.read += 1
            yield batch


def search(
    batches: Sequence[Sequence[tuple[str, str]]], names: Sequence[str], per_term: int = 3
) -> tuple[dict[str, list[Sentence]], int]:
    forms = [normal_form(name) for name in names]
    texts = Texts(batches)
    found = find_sentences(texts, forms, NameMatcher.build(forms), per_term=per_term)
    return found, texts.read


def test_sentences_are_found_for_every_term() -> None:
    batches = [
        [("d1", "Aspirin helps. Heart-attack patients rest."), ("d2", "A 😀 heart attack came.")],
        [("d3", "No HEART ATTACK here.")],
    ]
    found, _ = search(batches, ["heart attack", "aspirin", "unseen"])
    assert found == {
        "heart attack": [
            Sentence("d1", "Heart-attack patients rest.", 0, 12),
            Sentence("d2", "A 😀 heart attack came.", 4, 16),
            Sentence("d3", "No HEART ATTACK here.", 3, 15),
        ],
        "aspirin": [Sentence("d1", "Aspirin helps.", 0, 7)],
    }


def test_different_documents_are_preferred_and_repetitions_left_out() -> None:
    batches = [
        [("d1", "A flu one. A flu two. A flu three. A flu four.")],
        [("d2", "A flu one. A flu five.")],
        [("d3", "A flu six.")],
        [("d4", "A flu seven.")],
    ]
    found, read = search(batches, ["flu"])
    assert [s.document for s in found["flu"]] == ["d1", "d2", "d3"]
    assert len({s.text for s in found["flu"]}) == 3
    assert read == 3
    few, _ = search(batches[:1], ["flu"])
    assert [s.text for s in few["flu"]] == ["A flu one.", "A flu two.", "A flu three."]


def test_reading_stops_when_every_term_has_enough() -> None:
    batches = [[(f"d{i}", f"Text {i} has flu.")] for i in range(50)]
    found, read = search(batches, ["flu"], per_term=2)
    assert (len(found["flu"]), read) == (2, 2)
    found, read = search(batches, ["flu", "never"], per_term=2)
    assert (len(found["flu"]), read) == (2, 50)
    assert search(batches, ["flu"], per_term=0) == ({}, 0)
    assert search(batches, []) == ({}, 0)


# --- The map ----------------------------------------------------------------------------------


def test_synonyms_lie_closer_than_others() -> None:
    sets, vectors = make_world(entities=40, noise=0.1)
    placed = term_map(vectors, vectors.terms, seed=1)
    assert [term for term, _, _ in placed] == list(vectors.terms)
    places = np.array([(x, y) for _, x, y in placed])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)  # (terms, terms)
    np.fill_diagonal(apart, np.inf)
    labels = np.array(sets.labels(vectors.terms))
    hits = labels[apart.argmin(axis=1)] == labels
    assert np.mean(hits) > 0.8


def test_the_map_depends_on_its_seed_alone() -> None:
    _, vectors = make_world(entities=15)
    first = term_map(vectors, vectors.terms, seed=3)
    assert term_map(vectors, vectors.terms, seed=3) == first
    scaled = TermVectors(vectors.terms, vectors.matrix * np.float32(4))
    assert term_map(scaled, vectors.terms, seed=3) == first  # angles count, lengths do not


def test_the_first_terms_with_a_vector_are_placed() -> None:
    _, vectors = make_world(entities=20)
    wanted = [Term("unknown"), *vectors.terms[5:], vectors.terms[5]]
    assert [t for t, _, _ in term_map(vectors, wanted, seed=0, most=8)] == list(vectors.terms[5:13])
    assert term_map(vectors, [Term("unknown")], seed=0) == []
    assert term_map(vectors, vectors.terms, seed=0, most=0) == []


@pytest.mark.parametrize("count", [1, 2, 3, 29, 40])
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("kind", ["random", "equal", "zero"])
def test_small_and_flat_tables_have_a_map(count: int, dimension: int, kind: str) -> None:
    random = np.random.default_rng(0).normal(size=(count, dimension)).astype(np.float32)
    matrix = {"random": random, "equal": np.ones_like(random), "zero": np.zeros_like(random)}[kind]
    vectors = TermVectors(tuple(Term(f"t{i}") for i in range(count)), matrix)
    placed = term_map(vectors, vectors.terms, seed=0)
    assert len(placed) == count
    assert np.isfinite([place[1:] for place in placed]).all()


def test_few_terms_stand_along_their_main_axes() -> None:
    vectors = np.array([[1, 0, 0.1], [1, 0.2, 0], [0, 1, 0], [0.1, 1, 0.1]], np.float32)
    table = TermVectors(tuple(map(Term, "abcd")), vectors)
    a, b, c, d = ((x, y) for _, x, y in term_map(table, table.terms, seed=0))
    assert math.dist(a, b) < math.dist(a, c)
    assert math.dist(c, d) < math.dist(b, d)


def test_a_broken_vector_is_named() -> None:
    table = TermVectors((Term("a"),), np.array([[math.nan]], np.float32))
    with pytest.raises(DataError, match="not finite: 'a'"):
        term_map(table, table.terms, seed=0)
