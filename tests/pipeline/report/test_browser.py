"""The report in a real browser: search, filters, details, keys, small screens, hostile terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from synsetmine.pipeline.report.findings import Findings
from synsetmine.pipeline.report.page import write_report
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from synsetmine.types import NameKind
from tests.support.findings import NASTY, findings_with, medical_sets, sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def show(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Write a report and open it; nothing may be complained about or loaded meanwhile."""

    @contextmanager
    def opened(
        findings: Findings, *, hash_: str = "", complaints: int = 0, **options: Any
    ) -> Iterator[Page]:
        path = tmp_path_factory.mktemp("report") / "report.html"
        write_report(path, findings)
        options.setdefault("viewport", LAPTOP)
        context = browser.new_context(**options)
        page = context.new_page()
        said: list[str] = []
        loaded: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("requestfinished", lambda request: loaded.append(request.url))
        try:
            page.goto(f"{path.as_uri()}{hash_}")
            yield page
            assert len(said) == complaints, said
            assert {url.partition("#")[0] for url in loaded} == {path.as_uri()}
        finally:
            context.close()

    return opened


def rows(page: Page) -> list[str]:
    """The names of the sets in view."""
    return page.locator("#rows button.set-name").all_inner_texts()


def row_button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def search_box(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search terms, ids and entity names")


def status(page: Page) -> str:
    return page.locator("#found").inner_text()


# --- New names and groups ---------------------------------------------------------------------


def test_new_names_are_shown_on_demand_and_by_kind(show: Callable[..., Any]) -> None:
    kinds: list[NameKind] = ["abbreviation", "inflection", "other-words", "spelling"]
    seed = MinedTerm("seed", 1, "seed", True)
    joined = [
        MinedTerm(f"n{i}", 1, "joined", False, (i + 1) / 50, kind=kinds[i % 4]) for i in range(40)
    ]
    with show(sample(sets=[MinedSet("D1", (seed, *joined), "D1")])) as page:
        texts = page.locator("#names-rows strong")
        shown = page.locator("#names-shown")
        expected = [f"n{i}" for i in range(39, -1, -1) if i % 2 == 0]
        assert texts.all_inner_texts() == expected[:15]
        assert shown.inner_text() == "15 of 20 new names, of 40 in all"
        page.get_by_label("Kind", exact=True).select_option("all")
        assert texts.all_inner_texts() == [f"n{i}" for i in range(39, 24, -1)]
        assert shown.inner_text() == "15 of 40 new names"
        page.get_by_role("button", name="Show more").click()
        assert texts.count() == 40
        assert shown.inner_text() == "40 new names"
        entities = page.locator("#names-rows a")
        assert entities.nth(0).is_visible()
        assert not any(entities.nth(i).is_visible() for i in range(1, 40))
        assert "Nothing to show" in page.locator("#groups").inner_text()


def test_groups_that_differ_in_form_only_come_on_demand(show: Callable[..., Any]) -> None:
    evidence = Sentence("d1", "the lunar module (LM)", 18, 20, "abbreviation")

    def group(name: str, *terms: tuple[str, NameKind], said: tuple[Sentence, ...] = ()) -> MinedSet:
        joined = [MinedTerm(t, 1, "joined", False, 0.9, kind=k, evidence=said) for t, k in terms]
        return MinedSet(name, tuple(joined))

    sets = [
        group("c1", ("patients", "inflection"), ("patient", "inflection")),
        group("c2", ("rain", "other-words"), ("rainfall", "other-words")),
        group("c3", ("LM", "abbreviation"), ("lunar module", "abbreviation"), said=(evidence,)),
    ]
    with show(sample(sets=sets)) as page:
        names = page.locator("#groups-rows th")
        assert names.all_inner_texts() == ["LM, lunar module", "rain, rainfall"]
        assert page.locator("#groups-shown").inner_text() == "2 groups, of 3 in all"
        assert "evidence: abbreviation" in page.locator("#groups-rows tr").nth(0).inner_text()
        page.get_by_label("Groups", exact=True).select_option("all")
        assert names.all_inner_texts()[2] == "patients, patient"
        assert page.locator("#groups-shown").inner_text() == "3 groups"
    with show(sample(sets=sets[:1])) as page:
        assert page.locator("#groups-rows th").all_inner_texts() == ["patients, patient"]


def test_a_phone_shows_the_evidence_of_a_new_name(show: Callable[..., Any]) -> None:
    with show(sample(), viewport=PHONE) as page:
        row = page.locator("#names-rows tr", has_text="heart attacks")
        assert "We followed 66 patients with heart attacks" in row.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def open_folds(page: Page) -> None:
    """Unfold the figures, which are closed at first."""
    for fold in page.locator("details.fold").all():
        fold.locator("summary").first.click()


def test_a_link_to_folded_figures_unfolds_them(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        chart = page.get_by_role("img", name="Training curve")
        assert not chart.is_visible()
        page.get_by_role("link", name="Measures").click()
        chart.wait_for()
        assert page.locator("#measures-head").evaluate("e => e.getBoundingClientRect().top") < 400


@pytest.mark.slow
def test_a_new_name_leads_to_its_entity(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        page.locator("#names-rows a", has_text="Hypertension").first.click()
        page.wait_for_function("document.activeElement.textContent === 'Hypertension'")
        assert row_button(page, "Hypertension").get_attribute("aria-expanded") == "true"
        group = page.locator("#groups-rows tr", has_text="swollen ankles")
        assert group.inner_text().split() == ["ankle", "oedema,", "swollen", "ankles", "0.66"]


# --- Search, filters, order -------------------------------------------------------------------


@pytest.mark.slow
def test_search_finds_a_set_that_opens_and_shows_its_sentences(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        assert status(page) == "5 of 7 sets"
        search_box(page).fill("heart att")
        assert rows(page) == ["Myocardial Infarction"]
        assert status(page) == "1 of 7 sets"
        button = row_button(page, "Myocardial Infarction")
        assert button.get_attribute("aria-expanded") == "false"
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        members = page.locator(f"#{button.get_attribute('aria-controls')} .members > li")
        assert members.count() == 4
        text = members.nth(2).inner_text()
        for part in (
            "heart attacks",
            "not in the knowledge base",
            "joined",
            "0.93",
            "seen 21 times",
        ):
            assert part in text
        assert "We followed 66 patients with heart attacks for a year." in text
        assert "PMID21" in text
        assert members.nth(2).locator("mark").first.inner_text() == "heart attacks"
        assert "in the knowledge base" in members.nth(0).inner_text()
        members.nth(2).locator("summary").click()
        assert "Is heart attacks 😀 on the rise?" in members.nth(2).inner_text()
        button.click()
        assert page.locator(".members").count() == 0


@pytest.mark.slow
def test_search_looks_at_terms_ids_and_names(show: Callable[..., Any]) -> None:
    finds = {
        "D006333": ["Heart Failure"],
        "heart-FAILURE": ["Heart Failure"],
        "heart_fail": ["Heart Failure"],
        "chf": ["Heart Failure"],
        "pressure high": ["Hypertension"],
        "c4": ["acetylsalicylic acid"],
        "héart attack": ["Myocardial Infarction"],
        "nothing of the kind": [],
    }
    with show(sample()) as page:
        for query, found in finds.items():
            search_box(page).fill(query)
            assert rows(page) == found, query
        assert "No set matches" in page.locator("#rows").inner_text()


@pytest.mark.slow
def test_a_set_that_is_called_exactly_so_comes_first(show: Callable[..., Any]) -> None:
    names = ["red blood cell", "blood", "white blood cell"]
    sets = [
        MinedSet(f"c{i}", (MinedTerm(name, 9 - i, "opened", True), MinedTerm(f"t{i}", 0, "", True)))
        for i, name in enumerate(names)
    ]
    with show(sample(sets=sets)) as page:
        search_box(page).fill("Blood")
        assert rows(page) == ["blood", "red blood cell", "white blood cell"]


@pytest.mark.slow
def test_filters_agree_with_the_findings(show: Callable[..., Any]) -> None:
    sets = sample().sets
    kinds: dict[str, Callable[[MinedSet], bool]] = {
        "All sets": lambda s: True,
        "Known entities": lambda s: s.entity is not None,
        "Known entities with new names": lambda s: (
            s.entity is not None and any(t.action == "joined" for t in s.terms)
        ),
        "Unknown terms": lambda s: s.entity is None,
    }
    with show(sample()) as page:
        several = page.get_by_role("checkbox", name="Two or more terms")
        fresh = page.get_by_role("checkbox", name="With a name that the knowledge base lacks")
        assert several.is_checked()
        for kind, belongs in kinds.items():
            page.get_by_label("Show").select_option(kind)
            for least in (1, 2):
                several.set_checked(least == 2)
                for new in (False, True):
                    fresh.set_checked(new)
                    expected = [
                        s
                        for s in sets
                        if belongs(s)
                        and len(s.terms) >= least
                        and (not new or any(not t.known for t in s.terms))
                    ]
                    expected.sort(key=lambda s: -s.count)
                    assert rows(page) == [sample().title_of(s) for s in expected]


@pytest.mark.slow
def test_the_order_can_be_chosen_in_two_ways(show: Callable[..., Any]) -> None:
    several = sample().several
    by: dict[str, Callable[[MinedSet], tuple[float, ...]]] = {
        "Frequency": lambda s: (-s.count,),
        "Terms": lambda s: (-len(s.terms), -s.count),
        "Least certain": lambda s: (2 if s.least is None else s.least,),
    }
    options = {"Frequency": "Most frequent", "Terms": "Largest", "Least certain": "Least certain"}
    with show(sample()) as page:
        for head, key in by.items():
            expected = [sample().title_of(s) for s in sorted(several, key=key)]
            page.get_by_role("columnheader", name=head).get_by_role("button").click()
            assert rows(page) == expected
            assert page.locator("#order option:checked").inner_text() == options[head]
            direction = "ascending" if head == "Least certain" else "descending"
            assert page.locator("th[aria-sort]").get_attribute("aria-sort") == direction
        page.get_by_label("List first").select_option("Largest")
        assert page.locator("th[aria-sort]").inner_text().startswith("Terms")


# --- Many sets --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many() -> Findings:
    """20,000 sets of 60,000 terms, each with a sentence."""
    sets = []
    for number in range(20_000):
        terms = tuple(
            MinedTerm(
                text=f"{kind} {number}",
                count=20_000 - number,
                action="opened" if kind == "syndrome" else "joined",
                known=kind == "syndrome",
                probability=None if kind == "syndrome" else 0.5 + number / 50_000,
                sentences=(Sentence(f"d{number}", f"A {kind} {number}.", 2, -1),),
            )
            for kind in ("syndrome", "disease of type", "disorder")
        )
        sets.append(MinedSet(f"c{number}", terms))
    return sample(sets=sets)


@pytest.mark.slow
def test_twenty_thousand_sets_are_paged_and_searched(
    show: Callable[..., Any], many: Findings
) -> None:
    with show(many) as page:
        assert status(page) == "20,000 sets"
        assert rows(page)[0] == "syndrome 0"
        pager = page.get_by_role("navigation", name="Pages of sets")
        assert "Page 1 of 800" in pager.inner_text()
        last, next_ = (pager.get_by_role("button", name=name) for name in ("Last", "Next"))
        last.click()
        assert rows(page)[-1] == "syndrome 19999"
        assert next_.get_attribute("aria-disabled") == "true"
        next_.click(force=True)
        assert rows(page)[-1] == "syndrome 19999"
        pager.get_by_role("button", name="Previous").click()
        pager.get_by_role("button", name="First").click()
        next_.click()
        assert rows(page)[0] == "syndrome 25"
        assert page.locator("#rows tr").count() == 25
        search_box(page).press_sequentially("disorder 1999")
        found = [1999, 11999, *range(19990, 20_000)]
        assert rows(page) == [f"syndrome {number}" for number in found]
        row_button(page, "syndrome 1999").click()
        assert "A disorder 1999." in page.locator(".members").inner_text()
        assert not pager.is_visible()


@pytest.mark.slow
def test_a_set_of_twenty_thousand_terms_grows_on_demand(show: Callable[..., Any]) -> None:
    joined = (MinedTerm(f"n{i}", 1, "joined", False, 0.9) for i in range(20_000))
    one = MinedSet("D1", (MinedTerm("seed", 1, "seed", True), *joined), "D1")
    other = MinedSet("s2", tuple(MinedTerm(f"o{i}", 1, "joined", False, 0.9) for i in range(999)))
    with show(sample(sets=[one, other])) as page:
        assert "and 987 more" in page.locator("#groups-rows").inner_text()
        search_box(page).fill("n1")
        page.locator("#rows button.set-name").first.click()
        assert page.locator(".members > li").count() == 200
        page.get_by_role("button", name="19,801 more terms").click()
        assert page.locator(".members > li").count() == 400
    with show(sample(sets=[one, other]), java_script_enabled=False) as page:
        assert "and 19,901 more" in page.locator("#rows").inner_text()


@pytest.mark.slow
def test_a_set_can_be_linked(show: Callable[..., Any], many: Findings) -> None:
    with show(many, hash_="#set-c12345") as page:
        button = row_button(page, "syndrome 12345")
        assert button.get_attribute("aria-expanded") == "true"
        assert "A disorder 12345." in page.locator(".members").inner_text()
        assert page.locator("#set-c12345").evaluate("e => e.getBoundingClientRect().top") < 400
        page.evaluate("location.hash = '#set-c3'")
        page.wait_for_function("document.activeElement.textContent === 'syndrome 3'")
        row_button(page, "syndrome 4").click()
        assert page.url.endswith("#set-c4")
        row_button(page, "syndrome 4").click()
        assert page.url.endswith("#sets")


@pytest.mark.slow
def test_a_linked_set_shows_even_where_filters_hide_it(show: Callable[..., Any]) -> None:
    with show(sample(), hash_="#set-D003920") as page:
        assert row_button(page, "Diabetes Mellitus").get_attribute("aria-expanded") == "true"
        search_box(page).fill("aspirin")
        page.get_by_label("Show").select_option("Unknown terms")
        page.evaluate("location.hash = '#set-D006973'")
        page.wait_for_function("document.activeElement.textContent === 'Hypertension'")
        assert status(page) == "7 sets"


@pytest.mark.slow
def test_an_address_that_leads_nowhere_does_no_harm(show: Callable[..., Any]) -> None:
    with show(sample(), hash_="#set-unknown") as page:
        for nowhere in ("#set-", "#%E0%A4%A", "#set-%00"):
            page.evaluate("hash => { location.hash = hash }", nowhere)
            page.wait_for_timeout(20)
            assert len(rows(page)) == 5


@pytest.mark.slow
def test_evidence_comes_first_and_says_what_it_is(show: Callable[..., Any]) -> None:
    nasty = NASTY[0]
    evidence = Sentence("d1", f"heart failure (HF) {nasty}", 15, 17, "abbreviation")
    example = Sentence("d2", "HF is rare", 0, 2)
    told = MinedTerm(
        *("HF", 2, "joined", False, 0.9, "", (example,)),
        kind="abbreviation",
        relation="narrow",
        nearest=nasty,
        evidence=(evidence,),
    )
    found = MinedSet("D1", (MinedTerm("heart failure", 3, "seed", True), told), "D1")
    with show(sample(sets=[found]), hash_="#set-D1") as page:
        member = page.locator(".members > li").nth(1)
        assert member.locator(".kind").text_content() == f"abbreviation of “{nasty}”, narrower"
        quotes = member.locator("blockquote")
        assert quotes.nth(0).locator(".badge").text_content() == "evidence: abbreviation"
        assert quotes.nth(0).locator("p").text_content() == evidence.text
        assert quotes.nth(0).locator("mark").text_content() == "HF"
        assert quotes.nth(1).locator(".badge").count() == 0


# --- Hostile text -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", NASTY)
def test_hostile_text_is_shown_as_text(show: Callable[..., Any], text: str) -> None:
    findings = findings_with(text)
    with show(findings, hash_=f"#set-{quote(text, safe='')}") as page:
        assert page.locator("h1").text_content() == text
        name = page.locator("#rows tr.open button.set-name bdi")
        assert name.text_content() == text
        member = page.locator(".members > li")
        assert member.locator("strong").text_content() == text
        assert member.locator("mark").text_content() == text
        assert member.locator("blockquote p").text_content() == text * 3
        search_box(page).fill(text)
        assert page.locator("#rows button.set-name bdi").first.text_content() == text
        link = page.get_by_role("link", name="Link to set")
        link.click()
        assert page.locator("#rows tr.open").count() == 1
        assert page.locator("img, iframe").count() == 0
        assert page.locator("script").count() == 3


@pytest.mark.slow
def test_the_policy_stops_what_slips_in(show: Callable[..., Any]) -> None:
    with show(sample(), complaints=3) as page:
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.harm = 1";
                const image = document.createElement("img");
                image.src = "https://example.invalid/x.png";
                const text = document.createElement("p");
                text.setAttribute("style", "color: red");
                document.body.append(script, image, text);
            }"""
        )
        page.wait_for_timeout(100)
        assert page.evaluate("window.harm") is None


# --- For everyone -----------------------------------------------------------------------------


def long_words() -> list[MinedSet]:
    word = "pneumonoultramicroscopic" * 12
    sentence = Sentence(word, f"{word} {word}", 0, len(word))
    term = MinedTerm(word, 10**9, "joined", False, 0.999, word, (sentence, sentence))
    return [*medical_sets(), MinedSet(word, (term, term), word)]


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, {"width": 320, "height": 640}, LAPTOP])
@pytest.mark.parametrize("script", [True, False])
def test_nothing_sticks_out_at_the_side(
    show: Callable[..., Any], viewport: dict[str, int], script: bool
) -> None:
    with show(sample(sets=long_words()), viewport=viewport, java_script_enabled=script) as page:
        if script:
            for button in page.locator("#rows button.set-name").all():
                button.click()
            for summary in page.locator("summary").all():
                summary.click()
        # Without JavaScript in the page its width can still be measured from outside.
        box = page.locator("body").bounding_box()
        assert box is not None
        assert box["width"] <= viewport["width"]
        page.mouse.wheel(2000, 0)
        page.wait_for_timeout(50)
        head = page.locator("h1").bounding_box()
        assert head is not None
        assert head["x"] >= 0
        if script:
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.slow
def test_the_page_works_from_the_keyboard(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the new names"
        page.keyboard.press("Enter")
        page.keyboard.press("/")
        page.keyboard.type("heart")
        assert rows(page) == ["Heart Failure", "Myocardial Infarction"]
        page.keyboard.type("/")  # in the box it is a letter like any other
        assert search_box(page).input_value() == "heart/"
        page.keyboard.press("Backspace")
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.className") == "set-name":
                break
        page.keyboard.press("Enter")
        assert row_button(page, "Heart Failure").get_attribute("aria-expanded") == "true"
        assert page.evaluate("document.activeElement.textContent") == "Heart Failure"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Link to this set"
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert page.locator(".members details[open]").count() == 1
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        assert status(page) == "5 of 7 sets"


@pytest.mark.slow
def test_the_focus_can_be_seen(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        page.keyboard.press("Tab")
        for _ in range(12):
            page.keyboard.press("Tab")
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", page.evaluate("document.activeElement.outerHTML")


@pytest.mark.slow
def test_a_reader_of_the_screen_gets_labels(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        assert page.get_by_role("table", name="Mined sets with their terms").count() == 1
        assert page.get_by_role("rowheader", name="Hypertension").count() == 1
        open_folds(page)
        for chart in (
            "Reliability",
            "Training curve",
            "Histogram",
            "Scores against",
            "Map of 17 terms",
        ):
            assert page.get_by_role("img", name=chart).count() == 1
        assert page.get_by_role("search", name="Mined sets").is_visible()
        assert page.get_by_role("navigation", name="Sections").is_visible()
        text = page.get_by_role("rowheader", name="Hypertension").text_content()
        assert "raised blood pressure (not in the knowledge base)" in (text or "")


@pytest.mark.slow
def test_without_javascript_the_sets_are_readable(show: Callable[..., Any]) -> None:
    with show(sample(), java_script_enabled=False) as page:
        assert not page.locator("#search").is_visible()
        assert "With JavaScript" in page.locator("#sets").inner_text()
        row = page.locator("#set-D006973").inner_text()
        assert "high blood pressure 0.97" in row
        open_folds(page)
        assert page.get_by_role("img", name="Training curve").is_visible()


@pytest.mark.slow
def test_a_dot_of_the_map_leads_to_its_set(show: Callable[..., Any]) -> None:
    with show(sample()) as page:
        open_folds(page)
        page.locator("svg.map circle[data-set='c6']").click()
        assert row_button(page, "salbutamol").get_attribute("aria-expanded") == "true"
        assert page.url.endswith("#set-c6")


@pytest.mark.slow
def test_light_and_dark_follow_the_reader(show: Callable[..., Any]) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        with show(sample(), color_scheme=scheme) as page:
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            grounds.append(sum(map(int, ground.strip("rgb()").split(", "))))
    light, dark = grounds
    assert light > 600
    assert dark < 100
