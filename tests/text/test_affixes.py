"""Names within words: between affixes, and as parts of compounds."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.normalization import fold, normal_form, token_spans
from synsetmine.text.matcher import NameMatcher, known_part

Found = list[tuple[int, int, str]]  # start, end, form

# By script: names, what may stand before and behind them, other words, and a space if there is one.
SCRIPTS = {
    "Thai": (["ประเทศไทย", "กรุงเทพ", "เกาหลีใต้"], ["ใน", "ของ", ""], ["และ", ""], ["มาก"], ""),
    "Lao": (["ປະເທດລາວ", "ວຽງຈັນ"], ["ໃນ", ""], ["ແລະ", ""], ["ດີ"], ""),
    "Khmer": (["កម្ពុជា", "ភ្នំពេញ"], ["នៅ", ""], ["និង", "\u200b", ""], ["ល្អ"], ""),
    "Burmese": (["မြန်မာ", "ရန်ကုန်", "သီရိလင်္ကာ"], [""], ["မှာ", "နှင့်", ""], ["ကောင်း"], ""),
    "Chinese": (["中国", "新加坡"], ["在", ""], ["的", ""], ["好"], ""),
    "Japanese": (["日本", "トヨタ", "ｼﾞｬﾊﾟﾝ"], [""], ["は", "では"], ["よい"], ""),
    "Korean": (
        ["서울", "대한민국", "삼성 전자", "KBS"],
        [""],
        ["에서는", "들의", "입니다", ""],
        ["좋은"],
        " ",
    ),
    "Arabic": (["القاهرة", "مصر", "الأمم المتحدة"], ["و", "وب", "بَ", ""], [""], ["جميل"], " "),
    "Hebrew": (["ירושלים", "בית המשפט", "ישראל"], ["ב", "ושב", "ה", ""], [""], ["טוב"], " "),
    "Hindi": (["भारत", "हिन्दी भाषा"], [""], [""], ["में"], " "),
    "Turkish": (["Türkiye", "İzmir"], [""], ["'de", "’nin", ""], ["güzel"], " "),
    "Ukrainian": (["Кам'янка", "Камʼянка"], [""], [""], ["місто"], " "),
}


@st.composite
def texts_with_names(draw: st.DrawFn) -> tuple[str, list[str], Found]:
    names, before, behind, others, space = SCRIPTS[draw(st.sampled_from(sorted(SCRIPTS)))]
    text, places = "", []
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(names))
        text += draw(st.sampled_from(others)) + space + draw(st.sampled_from(before))
        places.append((len(text), len(text) + len(name), normal_form(name)))
        text += name + draw(st.sampled_from(behind)) + space
    return text, names, places


@given(texts_with_names(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_every_name_that_a_text_has_is_found_where_it_stands(
    drawn: tuple[str, list[str], Found], compounds: bool
) -> None:
    text, names, places = drawn
    assert found_in(text, names, compounds=compounds) == places


def found_in(text: str, names: list[str], *, compounds: bool = False) -> Found:
    forms = list(dict.fromkeys(map(normal_form, names)))
    matches = NameMatcher.build(forms).find(["", text], compounds=compounds)
    return [
        (start, end, forms[form])
        for _, start, end, form in zip(*(c.tolist() for c in matches.columns), strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("한국어 경서울 서울시", ["한국", "서울"]),  # no particles: parts of other words
        ("서울에서 대학교", ["서울 대학교"]),  # a particle ends a name
        ("كلب", ["لب"]),  # too short
        ("القاهري مصرية", ["القاهرة", "مصر"]),  # another ending
        ("ישראלי", ["ישראל"]),
        ("เกาหลี", ["กา"]),  # within a vowel and its consonant
        ("Herzinfarktrisiko", ["Herzinfarkt"]),
        ("newspapers", ["news", "paper"]),
    ],
)
def test_other_words_are_no_names(text: str, names: list[str]) -> None:
    assert found_in(text, names) == []


@pytest.mark.parametrize(
    ("text", "names", "surfaces"),
    [
        ("Herzinfarktrisiko, Vorderwandinfarkt", ["Herzinfarkt", "Infarkt"], "Herzinfarkt infarkt"),
        ("Vorderwandinfarkt", ["Wand"], ""),  # neither first nor last
        ("Reisen, Reis", ["Reis"], "Reis"),  # two letters are no other word
        ("STRASSENBAHN", ["Straße"], "STRASSE"),
        ("서울대학교", ["서울"], ""),
        ("서울대학교", ["서울대학"], ""),
        ("Cafe\u0301haus", ["Cafe"], ""),
    ],
)
def test_parts_of_compounds(text: str, names: list[str], surfaces: str) -> None:
    found = found_in(text, names, compounds=True)
    assert [text[start:end] for start, end, _ in found] == surfaces.split()


@given(st.text("abc", min_size=1, max_size=12), st.sets(st.text("abc", min_size=1, max_size=8)))
def test_the_longest_part_of_a_compound(word: str, known: set[str]) -> None:
    size = len(word)
    parts = [(0, end) for end in range(4, size - 2)] + [(at, size) for at in range(3, size - 3)]
    longest = [part for part in parts if word[slice(*part)] in known]
    longest.sort(key=lambda part: (part[0] - part[1], part[0]))
    assert known_part(word, known.__contains__, compounds=True) == next(iter(longest), None)


# Few, so that names meet: particles, prefixes, names that are words of other names.
PIECES = [["서울", "에서", "대학", " ", " ", "KBS"], ["القاهرة", "و", "وجزر", "جزر", " ", " "]]


@st.composite
def names_and_texts(draw: st.DrawFn) -> tuple[list[str], str]:
    piece = st.sampled_from(draw(st.sampled_from(PIECES)))
    names = draw(st.lists(st.lists(piece, max_size=4).map("".join), min_size=1, max_size=5))
    text = st.lists(piece | st.sampled_from(names), max_size=10).map("".join)
    return [*filter(normal_form, names)], draw(text)


@given(names_and_texts())
@example((["서울에서 대학", "서울"], "서울에서 대학 서울에서 KBS"))
@example((["القاهرة وجزر", "جزر"], "والقاهرة وجزر وجزر"))
@settings(max_examples=400, deadline=None)
def test_it_finds_what_a_plain_search_finds(names_and_text: tuple[list[str], str]) -> None:
    names, text = names_and_text
    forms = list(dict.fromkeys(map(normal_form, names)))
    assert found_in(text, names) == plain_search(forms, text)


def plain_search(forms: list[str], text: str) -> Found:
    """Whole words first; then a word in no name may be cut, at last one that some name has."""
    known = {fold(word) for form in forms for word in form.split()}
    spans: list[tuple[int, int]] = [*token_spans(text)]
    for of_names in (False, True):
        in_names = {at for start, end, _ in windows(forms, text, spans) for at in range(start, end)}
        cut = []
        for start, end in spans:
            part = None
            if (
                start >= 0
                and start not in in_names
                and (fold(text[start:end]) in known) is of_names
            ):
                part = known_part(text[start:end], lambda word: fold(word) in known)
            if part is None:
                cut.append((start, end))
            else:
                cut += [(-1, -1)] * (part[0] > 0) + [(start + part[0], start + part[1])]
                cut += [(-1, -1)] * (start + part[1] < end)
        spans = cut
    return windows(forms, text, spans)


def windows(forms: list[str], text: str, spans: list[tuple[int, int]]) -> Found:
    """Span by span, the longest window first; a cut is at (-1, -1)."""
    found, place = [], 0
    while place < len(spans):
        size = 1
        for width in range(8, 0, -1):
            own = spans[place : place + width]
            if len(own) < width or (-1, -1) in own:
                continue
            words = [text[start:end] for start, end in own]
            form = " ".join(map(fold, words))
            if width == 1 and words[0] in forms and words[0].isupper():
                form = words[0]
            if form in forms:
                found.append((own[0][0], own[-1][1], form))
                size = width
                break
        place += size
    return found
