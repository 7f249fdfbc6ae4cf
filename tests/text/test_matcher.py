"""Names in texts, against a plain search token by token."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.normalization import fold, keeps_case, normal_form, token_spans
from synsetmine.text import matcher as dictionary
from synsetmine.text import tokens as tokens_module
from synsetmine.text.matcher import Matches, NameMatcher

Found = list[tuple[int, int, int, str]]  # text, start, end, form

# Few, so that names meet: capitals, signs, folds to several letters, scripts without blanks.
PIECES = [*"aabbABAB  +#-1ßẞSsİiﬁKkꭰᎠ漢漢字😀𝕏𐐀𐐨𠀀", "a b", "AB", "\x01"]

MEDLINE = Path(__file__).parents[3] / "shared" / "data" / "medline"


def plain_search(forms: Sequence[str], texts: Sequence[str]) -> Found:
    """Token by token, the longest window first."""
    names = set(forms)
    longest = max((form.count(" ") + 1 for form in forms), default=0)
    found = []
    for number, text in enumerate(texts):
        spans = list(token_spans(text))
        words = [text[start:end] for start, end in spans]
        folded = [fold(word) for word in words]
        place = 0
        while place < len(words):
            for size in range(min(longest, len(words) - place), 0, -1):
                form = " ".join(folded[place : place + size])
                if size == 1 and keeps_case(words[place]) and words[place] in names:
                    form = words[place]
                if form in names:
                    found.append((number, spans[place][0], spans[place + size - 1][1], form))
                    place += size
                    break
            else:
                place += 1
    return found


def fast_search(forms: Sequence[str], texts: Sequence[str]) -> Found:
    return rows(NameMatcher.build(forms).find(texts), forms)


def rows(matches: Matches, forms: Sequence[str]) -> Found:
    columns = (matches.text, matches.start, matches.end, matches.form)
    assert {column.dtype for column in columns} == {np.dtype(np.int64)}
    assert {len(column) for column in columns} == {len(matches)}
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return [(text, start, end, forms[form]) for text, start, end, form in numbers]


def surfaces(forms: Sequence[str], text: str) -> list[str]:
    return [text[start:end] for _, start, end, _ in fast_search(forms, [text])]


def some_texts(max_pieces: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), max_size=max_pieces).map("".join)


def some_forms() -> st.SearchStrategy[list[str]]:
    forms = some_texts(4).map(normal_form).filter(bool)
    return st.lists(forms, max_size=12, unique=True)


# --- Finding ----------------------------------------------------------------------------------


def test_names_are_found_where_accents_stand_behind_their_letters() -> None:
    text = "Das cafe\u0301 in i\u0307zmir, E\u0301TE\u0301, हिन्दी, हिन"
    found = fast_search(["café", "izmir", "ÉTÉ", "हिन्दी", "cafe"], [text])
    assert [(text[start:end], form) for _, start, end, form in found] == [
        ("cafe\u0301", "café"),
        ("i\u0307zmir", "izmir"),
        ("E\u0301TE\u0301", "ÉTÉ"),
        ("हिन्दी", "हिन्दी"),
    ]


@given(some_forms(), st.lists(some_texts(15), max_size=4), st.sampled_from([1, 9, 1 << 19]))
@example(["AB", "ab", "ab b"], ["AB ab Ab AB b aB"], 1)
@example(["AB", "b"], ["ab b AB b"], 1 << 19)
@example(["SS", "ẞ"], ["SS ss ẞ ß Ss"], 1 << 19)
@example(["Ꭰ", "Ꭰ Ꭰ"], ["Ꭰ ꭰ, ꭰ"], 1 << 19)
@settings(max_examples=600, deadline=None)
def test_it_finds_what_a_plain_search_finds(forms: list[str], texts: list[str], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens_module, "_PIECE", size)
        assert fast_search(forms, texts) == plain_search(forms, texts)


@given(st.lists(st.text(max_size=6), max_size=8), st.lists(st.text(max_size=20), max_size=3))
@settings(max_examples=200, deadline=None)
def test_names_and_texts_of_any_characters(names: list[str], texts: list[str]) -> None:
    forms = list(dict.fromkeys(form for name in names if (form := normal_form(name))))
    texts = [*texts, *names, " ".join(names)]
    assert fast_search(forms, texts) == plain_search(forms, texts)


@given(some_forms(), st.lists(some_texts(15), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_texts_are_searched_each_on_its_own(forms: list[str], texts: list[str]) -> None:
    matcher = NameMatcher.build(forms)
    alone = [rows(matcher.find([text]), forms) for text in texts]
    expected = [(number, *row[1:]) for number, found in enumerate(alone) for row in found]
    assert rows(matcher.find(texts), forms) == expected


def test_the_leftmost_and_then_the_longest_name_wins() -> None:
    forms = ["new york", "york", "york city hall", "new york city"]
    assert surfaces(forms, "New York City Hall; York; new-york") == [
        "New York City",
        "York",
        "new-york",
    ]


def test_names_begin_and_end_with_words() -> None:
    forms = ["art", "c", "c++", "heart failure"]
    assert surfaces(forms, "heart party, Art! C++ c+ C heart-failures HEART_FAILURE") == [
        "Art",
        "C++",
        "C",
        "HEART_FAILURE",
    ]


def test_no_name_runs_from_one_text_into_the_next() -> None:
    assert fast_search(
        ["new york", "york"], ["new", "york", "new\0york", "neü", "new", "yörk"]
    ) == [
        (1, 0, 4, "york"),
        (2, 0, 8, "new york"),
    ]


def test_short_capitals_are_found_as_they_are_written() -> None:
    text = "WHO said who; Who? wHO"
    assert [row[1:] for row in fast_search(["WHO"], [text])] == [(0, 3, "WHO")]
    assert [row[3] for row in fast_search(["who"], [text])] == ["who"] * 4
    assert [row[3] for row in fast_search(["WHO", "who"], [text])] == ["WHO", "who", "who", "who"]
    # Not on its own, a word in capitals is a word as any other.
    assert surfaces(["WHO", "who said"], text) == ["WHO said"]
    assert surfaces(["WHO", "said"], "who said WHO") == ["said", "WHO"]


def test_scripts_without_blanks_are_searched_within_a_run() -> None:
    assert surfaces(["漢 字", "東 京"], "これは漢字です東京都") == ["漢字", "東京"]


def test_nothing_is_found_without_names_or_without_texts() -> None:
    assert fast_search([], ["a b", "ä"]) == []
    assert len(NameMatcher.build(["a"]).find([])) == 0
    assert len(NameMatcher.build(["a"]).find(["", "ü", " "])) == 0


def test_more_words_than_one_character_can_number() -> None:
    forms = [f"w{i} w{i + 1}" for i in range(5000)]
    text = " ".join(f"w{i}" for i in range(5002))
    assert fast_search(forms, [text]) == plain_search(forms, [text])


@pytest.mark.slow
@pytest.mark.skipif(not MEDLINE.is_dir(), reason="the MEDLINE abstracts are not at hand")
def test_real_names_in_real_text() -> None:
    with gzip.open(MEDLINE / "mesh.jsonl.gz") as stream:
        entities = [json.loads(line) for line in stream]
    names = (name for entity in entities for name in (entity["name"], *entity["synonyms"]))
    forms = dict.fromkeys(filter(None, map(normal_form, names)))
    with gzip.open(MEDLINE / "corpus.jsonl.gz") as stream:
        texts = [json.loads(line)["text"] for line in islice(stream, 400)]
    found = fast_search(list(forms), texts)
    assert len(found) > 5000
    assert found == plain_search(list(forms), texts)


# --- Building ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        "",
        " ",
        "Heart",
        "heart  failure",
        " a",
        "a ",
        "a-b",
        "W H",
        "A-B",
        "WHO.",
        "HEARTS",
        "\ud800",
        "-",
    ],
)
@pytest.mark.parametrize("before", [[], ["a", "WHO", "ü", "漢 字"]])
def test_what_is_not_a_normal_form_is_refused(form: str, before: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        NameMatcher.build([*before, form])
    assert str(caught.value) == f"not the normal form of a name: {form!r}"


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(DataError, match="this name occurs twice: 'b'"):
        NameMatcher.build(["a", "b", "c", "b"])


def test_names_come_as_a_list_or_as_an_arrow_array() -> None:
    forms = ["b", "new york", "ü", "WHO"]
    text = "Ü WHO New York"
    for array in (pa.array(forms), pa.array(["x", *forms], pa.large_string())[1:]):
        matcher = NameMatcher.build(array)
        assert rows(matcher.find([text]), forms) == fast_search(forms, [text])
        assert matcher.is_built_from(forms)
        assert matcher.is_built_from(array)
        assert NameMatcher.build(forms).is_built_from(array)


def test_a_matcher_knows_the_names_it_was_built_from() -> None:
    matcher = NameMatcher.build(["a b", "c"])
    assert matcher.is_built_from(["a b", "c"])
    for others in ([], ["c", "a b"], ["a b"], ["a b", "c", "d"], ["a", "bc"], ["a", "b c"]):
        assert not matcher.is_built_from(others)
        assert not matcher.is_built_from(pa.array(others, pa.string()))
    assert NameMatcher.build([]).is_built_from(pa.array([], pa.string()))


# --- Files ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matchers")


@pytest.mark.parametrize("name", ["x.names", "x.names.gz"])
@given(some_forms(), st.lists(some_texts(15), max_size=3))
@settings(max_examples=25, deadline=None)
def test_what_is_saved_is_loaded(
    folder: Path, name: str, forms: list[str], texts: list[str]
) -> None:
    matcher = NameMatcher.build(forms)
    matcher.save(folder / name)
    for copy in (NameMatcher.load(folder / name), pickle.loads(pickle.dumps(matcher))):
        assert rows(copy.find(texts), forms) == plain_search(forms, texts)
        assert copy.is_built_from(forms)


def test_the_same_names_make_the_same_file(tmp_path: Path) -> None:
    forms = ["b a", "WHO", "a", "ü a"]
    for name in ("x", "y"):
        NameMatcher.build(forms).save(tmp_path / name)
    NameMatcher.load(tmp_path / "x").save(tmp_path / "z")
    assert len({(tmp_path / name).read_bytes() for name in "xyz"}) == 1


def test_a_file_with_any_byte_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.names"
    NameMatcher.build(["a b", "WHO", "ü"]).save(path)
    content = path.read_bytes()
    for place in [*range(120), *range(120, len(content), 37)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError) as caught:
            NameMatcher.load(path)
        assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("part", [0, 1, 18, 19, 20, 50, 51, 60, 200, -1])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, part: int) -> None:
    path = tmp_path / "x.names"
    NameMatcher.build(["a b", "WHO", "ü"]).save(path)
    path.write_bytes(path.read_bytes()[:part])
    with pytest.raises(DataError, match=f"{path}: (not a name matcher|a damaged name matcher)"):
        NameMatcher.load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.names"
    for content in (b"", b"\x80\x04.", pickle.dumps(["a"]), b"synsetmine names 1\nrest"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"{path}: not a name matcher saved by this version"):
            NameMatcher.load(path)
    with pytest.raises(DataError, match=f"{tmp_path / 'gone'}: No such file"):
        NameMatcher.load(tmp_path / "gone")
    with pytest.raises(DataError, match=f"{tmp_path}: Is a directory"):
        NameMatcher.load(tmp_path)


def test_a_file_of_another_version_of_the_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.names"
    monkeypatch.setattr(dictionary, "_engine", lambda: "daachorse 0.4.0")
    NameMatcher.build(["a"]).save(path)
    monkeypatch.undo()
    with pytest.raises(DataError, match=f"{path}: a name matcher saved by daachorse 0.4.0, but"):
        NameMatcher.load(path)


def test_an_interrupted_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.names"
    NameMatcher.build(["a"]).save(path)

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        NameMatcher.build(["b"]).save(path)
    assert NameMatcher.load(path).is_built_from(["a"])
    assert list(tmp_path.iterdir()) == [path]
