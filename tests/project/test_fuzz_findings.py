"""What fuzzing found, each as small as it can be: a clear error in place of another exception."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from fuzz.runs import general_model
from synsetmine.corpus import read_batches, read_corpus, read_pages, write_documents
from synsetmine.corpus.name_lists import read_rows
from synsetmine.corpus.wikitext import Site, plain_text, read_target
from synsetmine.errors import DataError, ErrorCounts, ModelError, SynsetmineError
from synsetmine.export.push import read_body
from synsetmine.io.files import Source
from synsetmine.io.sets import read_sets, read_trace
from synsetmine.kb import NewName, apply_names, read_kb
from synsetmine.linking import PubtatorLinker
from synsetmine.linking.spotlight import Annotation
from synsetmine.linking.supervision import HEADER, read_links
from synsetmine.models import StoredModel, load_model, save_model
from synsetmine.models.general import load_general
from synsetmine.models.paper.network import SetScorer
from synsetmine.pipeline.graph_files import read_table
from synsetmine.pipeline.mcp.tools import tools_of
from synsetmine.pipeline.plan import Plan
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.restoration import undo_plan
from synsetmine.review import ReviewStore
from synsetmine.review.decisions import COLUMNS, Decision, read_decisions
from synsetmine.runs.folder import FORMAT, MANIFEST, RunFolder
from synsetmine.text.matcher import MARK, NameMatcher
from synsetmine.types import Document, Mention
from synsetmine.views.encoder import find_encoder
from tests.support.kbfiles import atom, content_of, store

PROJECT = "[corpus]\npath = 'a'\n[kb]\npath = 'b'\n"
BEYOND = "0x" + "f" * 5000  # Python reads it, but neither writes it nor makes a float of it


def test_an_error_can_be_reported_whatever_its_value() -> None:
    told = "strange: a value of type int that is too large to show"
    assert str(DataError("strange", value=16**5000)) == told
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    told = "strange: a value of type list that is too large to show"
    assert str(DataError("strange", value=deep)) == told


# --- Projects, models, manifests ---


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (f"anchors = {'9' * 5000}", "not TOML: "),
        (f"anchors = {'[' * 5000}", "not TOML: "),
        (f"anchors = {BEYOND}", "[kb] anchors is a number beyond 64 bits"),
        (f"[mine]\nthreshold = {BEYOND}", "[mine] threshold is a number beyond 64 bits"),
        (
            f"[train]\npreset = 'paper'\ndropout = {BEYOND}",
            "[train] dropout is a number beyond 64 bits",
        ),
        (f"[train]\npreset = 'paper'\nseed = {BEYOND}", "[train] seed is a number beyond 64 bits"),
        (
            "[train]\npreset = 'paper'\nembed_sizes = [inf]",
            "[train] embed_sizes must be a whole number: inf",
        ),
        ("[link]\nconfidence = -1", "[link] confidence must be between 0 and 1: -1.0"),
        ("[vocabulary]\nlist = '~no-such-user/x'", "no user has this name: '~no-such-user/x'"),
    ],
    ids=lambda text: text[:20],
)
def test_projects(tmp_path: Path, more: str, problem: str) -> None:
    path = store(tmp_path, PROJECT + more, "synsetmine.toml")
    with pytest.raises(DataError) as caught:
        read_project(path)
    assert str(caught.value).startswith(str(path))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_encoder_of_an_unknown_user() -> None:
    with pytest.raises(DataError, match="no such encoder folder"):
        find_encoder("~no-such-user/encoder")


def _change(config: Path, **changes: object) -> None:
    content = json.loads(config.read_text())
    config.write_text(json.dumps(content | changes))


@pytest.mark.parametrize("threshold", [float("nan"), -0.1, 2, 10**400])
def test_a_model_with_a_threshold_that_is_none(tmp_path: Path, threshold: float) -> None:
    save_model(tmp_path, StoredModel(SetScorer(dimension=2), 0.5, {}))
    _change(tmp_path / "config.json", threshold=threshold)
    with pytest.raises(ModelError, match="the threshold is not a probability"):
        load_model(tmp_path)


@pytest.mark.parametrize("sizes", [[0], [10**9], [3] * 100_000, [[]], "3", {"3": 3}])
def test_a_model_of_other_layers_is_refused_before_they_are_built(
    tmp_path: Path, sizes: object
) -> None:
    scorer = SetScorer(dimension=2, embed_sizes=(3,), post_sizes=(3,))
    save_model(tmp_path, StoredModel(scorer, 0.5, {}))
    described = {"dimension": 2, "embed_sizes": sizes, "post_sizes": [3], "dropout": 0.5}
    _change(tmp_path / "config.json", scorer=described)
    with pytest.raises(ModelError, match=r"the weights do not fit config\.json"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adaptation", 7),
        ("adaptation", {"strings": 1, "tables": [2]}),
        ("adaptation", {"strings": False, "tables": [float("inf")]}),
        ("set_function", {"bias": 1.0}),
        ("set_function", {"bias": 1.0, "scale": float("nan")}),
    ],
)
def test_a_general_model_that_is_described_wrongly(
    tmp_path: Path, field: str, value: object
) -> None:
    save_model(tmp_path, StoredModel(general_model(), 0.5, {}))
    described = json.loads((tmp_path / "config.json").read_text())["scorer"]
    _change(tmp_path / "config.json", scorer=described | {field: value})
    with pytest.raises(ModelError, match=r"the weights do not fit config\.json"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        json.dumps({"format": FORMAT, "stages": []}),
        json.dumps({"format": FORMAT, "stages": {"read": {"outputs": {}}}}),
        json.dumps({"format": FORMAT, "stages": {"read": {"counts": {}}}}),
        json.dumps({"format": FORMAT, "files": {"a": {"size": 1}}}),
    ],
    ids=range(5),
)
def test_a_damaged_manifest(tmp_path: Path, content: str) -> None:
    store(tmp_path, content, MANIFEST)
    problem = r"manifest\.json.*delete (it|the manifest) to start over"
    with pytest.raises(SynsetmineError, match=problem):
        RunFolder(tmp_path)


# --- Sets, links, traces, decisions ---


def test_an_id_of_half_a_character(tmp_path: Path) -> None:
    path = store(tmp_path, '{"id": "\\ud800", "terms": ["a"]}', "a.jsonl")
    with pytest.raises(DataError, match=r"a\.jsonl:1: an id must be valid Unicode: '\\ud800'"):
        read_sets(path)


@pytest.mark.parametrize("count", ["9" * 5000, "٣", "9" * 19], ids=len)
def test_a_count_of_links(tmp_path: Path, count: str) -> None:
    path = store(tmp_path, f"{HEADER}\na\tb\t{count}\n", "links.tsv")
    with pytest.raises(DataError, match=r"links\.tsv:2: expected a count after the tab"):
        read_links(path)


@pytest.mark.parametrize("probability", ["9" * 400, "-0.5", "1.5", "Infinity", "NaN"], ids=len)
def test_a_probability_of_a_trace(tmp_path: Path, probability: str) -> None:
    line = f'{{"term": "a", "best_set": null, "probability": {probability}, "action": "opened"}}'
    with pytest.raises(DataError, match=r"trace\.jsonl:1: not a trace record"):
        list(read_trace(store(tmp_path, line, "trace.jsonl")))


def test_a_set_of_a_trace(tmp_path: Path) -> None:
    line = '{"term": "a", "best_set": "\\ud800", "probability": 1, "action": "joined"}'
    with pytest.raises(DataError, match=r"trace\.jsonl:1: not a trace record"):
        list(read_trace(store(tmp_path, line, "trace.jsonl")))


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("undoes", "\\ud800", "not valid Unicode"),
        ("id", "\\udfff", "not valid Unicode"),
        ("when", "٢026-03-01T09:30:00.125Z", "expected a time such as"),  # sorts after all others
        ("when", "9999-12-31T23:59:59.999Z", "expected a time such as"),  # nothing comes after it
    ],
)
def test_cells_of_a_decision(tmp_path: Path, column: str, cell: str, problem: str) -> None:
    told = {"reviewer": "me", "kind": "reject", "set_id": "s", "members": "a"}
    row = told | {"when": "2026-03-01T09:30:00.125Z"} | {column: cell}
    cells = "\t".join(row.get(name, "") for name in COLUMNS)
    path = store(tmp_path, "\t".join(COLUMNS) + f"\n{cells}\n", "reviews.tsv")
    with pytest.raises(DataError, match=rf"reviews\.tsv:2: {problem}"):
        read_decisions(path)


def test_there_is_a_time_after_every_decision(tmp_path: Path) -> None:
    made = Decision(kind="reject", reviewer="me", set_id="s", members=("a",))
    with pytest.raises(DataError, match="expected a time such as"):
        made.stamp("9000-01-01T00:00:00.000Z")
    with ReviewStore(tmp_path / "reviews.sqlite") as store:
        store.take_in([made.stamp("8999-12-31T23:59:59.998Z")])
        assert store.add(made).when == "8999-12-31T23:59:59.999Z"


def test_an_answer_that_was_kept_too_deep() -> None:
    with pytest.raises(ValueError, match="not an annotation"):
        Annotation.from_json("[" * 100_000)


@pytest.mark.parametrize(
    "body",
    [b"", b"[" * 100_000, b"{}\n", b'{"engine": "ENGINE", "sizes": [0, 0, 0, 0, 9], "of": 1}\nx'],
)
def test_a_name_matcher_with_a_checksum_of_nonsense(tmp_path: Path, body: bytes) -> None:
    body = body.replace(b"ENGINE", f"daachorse {version('daachorse')}".encode())
    path = store(tmp_path, MARK + hashlib.sha256(body).digest() + body, "names.matcher")
    with pytest.raises(DataError, match=r"names\.matcher: an inconsistent name matcher; delete it"):
        NameMatcher.load(path)


# --- Wikis and other dumps ---


def _wiki(*pages: tuple[str, str]) -> str:
    body = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>1</id>"
        f"<revision><text>{text}</text></revision></page>"
        for title, text in pages
    )
    return f"<mediawiki>{body}</mediawiki>"


@pytest.mark.parametrize("encoding", ["shift_jis", "utf-7", "hex", "no-such"])
def test_encodings_that_the_parser_lacks(tmp_path: Path, encoding: str) -> None:
    content = f"<?xml version='1.0' encoding='{encoding}'?>{_wiki(('A', 'a'))}"
    path = store(tmp_path, content, "wiki.xml")
    with pytest.raises(DataError, match=r"wiki\.xml:1: unknown encoding"):
        list(read_pages(Source(path)))


@pytest.mark.parametrize(
    "text",
    ["#redirect" + " " * 100_000, "{{" + " " * 100_000, "{{" + "a " * 50_000],
    ids=lambda text: text[:3],
)
def test_blanks_take_no_more_than_linear_time(tmp_path: Path, text: str) -> None:
    """Each took from a minute to an hour."""
    path = store(tmp_path, _wiki(("A", "a"), ("B", text)), "wiki.xml")
    assert "A" in read_kb(path, format="mediawiki")


def test_a_picture_that_is_none_does_not_hide_a_link_in_a_link() -> None:
    found = plain_text("[[a|[[File:[[b]]]]]]", Site())
    assert found == ("File:b", (Mention(5, 6, "B"),))


@pytest.mark.parametrize("entity", ["MESH:", " MESH: ", "MESH:-1"])
def test_a_mention_of_nothing(tmp_path: Path, entity: str) -> None:
    path = store(tmp_path, f"1|t|Copper\n1\t0\t6\tCopper\tX\t{entity}\n", "a.pubtator")
    assert PubtatorLinker().link(list(read_corpus(path))) == [()]


def test_no_surface_leads_nowhere(tmp_path: Path) -> None:
    """Beyond its end a text has no characters, which is what the mention says that it has."""
    path = store(tmp_path, "1|t|Copper\n1\t26\t34\t\tX\tD1\n", "a.pubtator")
    with pytest.raises(DataError, match=r":2: the offsets do not match the surface"):
        list(read_corpus(path))


def test_a_title_that_no_page_can_have_is_left_out(tmp_path: Path) -> None:
    path = store(tmp_path, _wiki(("a\x9fb", "x"), ("B", "[[%7C%7C|y]]")), "wiki.xml")
    with pytest.raises(DataError, match=r"wiki\.xml:1: an id must not contain a tab"):
        read_kb(path, format="mediawiki")
    skipped = ErrorCounts()
    assert content_of(read_kb(path, format="mediawiki", anchors=1, skipped=skipped)) == {
        "B": ("B",)
    }
    assert len(skipped) == 1


@pytest.mark.parametrize("written", ["%7C%7Ca", "a&lt;b", "a%00b", "a%9fb", "a%5Bb"])
def test_links_to_titles_that_no_page_can_have(written: str) -> None:
    assert read_target(written, Site()).title == ""


def test_a_merged_concept_without_an_id_is_left_out(tmp_path: Path) -> None:
    path = store(tmp_path, atom("C0000001", "heart attack"), "MRCONSO.RRF")
    store(tmp_path, "\x01|2001AA|SY|||C0000001|Y|\n", "MRCUI.RRF")
    with pytest.raises(DataError, match=r"MRCUI\.RRF:1: an id must not contain a tab"):
        read_kb(path)
    skipped = ErrorCounts()
    assert content_of(read_kb(path, skipped=skipped)) == {"C0000001": ("heart attack",)}
    assert len(skipped) == 1


def test_a_control_character_in_quotes_is_no_quote(tmp_path: Path) -> None:
    path = store(tmp_path, 'id\tname\nD1\t"a\0b ""c"""\n', "a.tsv")
    assert content_of(read_kb(path)) == {"D1": ('a b "c"',)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.obo", '[Term]\nid: D1\nname: a\nsynonym: "b" EXACT [X\r'),
        ("a.tsv", "id\tname\nD1\ta\r"),
    ],
    ids=["obo", "tsv"],
)
def test_a_new_name_is_there_after_a_last_line_that_half_ends(
    tmp_path: Path, name: str, content: str
) -> None:
    path, out, refused = store(tmp_path, content, name), tmp_path / f"new-{name}", ErrorCounts()
    apply_names(path, out, [NewName("D1", "new")], refused=refused)
    assert not len(refused)
    assert content_of(read_kb(out)) == {"D1": (*read_kb(path).names("D1"), "new")}


# --- Parquet ---


def test_texts_of_a_stored_corpus_that_are_not_utf8(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "documents.parquet"
    write_documents(path, [Document("d1", "naive")])
    table = pq.read_table(path)
    broken = pa.array([b"na\xffve"]).view(pa.string())
    place = table.schema.get_field_index("text")
    pq.write_table(table.set_column(place, table.schema.field(place), broken), path)
    with pytest.raises(DataError, match=r"damaged Parquet file.*UTF8"):
        list(read_batches(path))


def test_columns_whose_names_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_documents(path, [Document("d1", "a text")])
    content = path.read_bytes()
    assert content.count(b"entity") > 1
    path.write_bytes(content.replace(b"entity", b"\xff\xfftity"))
    with pytest.raises(DataError, match=r"damaged Parquet file.*utf-8"):
        list(read_corpus(path))


READ_DAMAGED = """
import sys
from pathlib import Path
from synsetmine.corpus import documents_of, read_batches, read_corpus
from synsetmine.corpus.documents import batch_sizes
from synsetmine.errors import DataError

path = Path(sys.argv[1])
sound = path.read_bytes()
footer = int.from_bytes(sound[-8:-4], "little") + 8
readers = (
    batch_sizes,
    lambda path: [*map(documents_of, read_batches(path))],
    lambda path: [*read_corpus(path)],
)
refused = 0
for place in range(len(sound) - footer, len(sound)):
    path.write_bytes(sound[:place] + bytes([(sound[place] + 1) % 256]) + sound[place + 1 :])
    for read in readers:
        try:
            read(path)
        except DataError:
            refused += 1
print(refused)
"""


def test_no_byte_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """pyarrow ends it where it is asked for the metadata of a column that contradicts itself."""
    path = tmp_path / "a.parquet"
    write_documents(path, [Document("d1", "a text", (Mention(0, 1, "Q1"),))])
    command = [sys.executable, "-W", "error", "-c", READ_DAMAGED, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) > 100


# --- Lists of names, tables of a graph, rules of a search engine ---


def test_a_header_in_a_message_stays_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\u2028b,\x1b[31mc\n1,2\n")
    with pytest.raises(DataError) as caught:
        read_rows(tmp_path / "a.csv", column="name")
    columns = r"the columns are a\u2028b, \u001b[31mc"
    assert (
        str(caught.value) == f"{tmp_path / 'a.csv'}:1: no column has this name; {columns}: 'name'"
    )


@pytest.mark.parametrize("line", ['{"name": "a", "\\ud800": 1}', '{"name": "\\udfff"}'])
def test_half_characters_in_the_table_of_a_graph(tmp_path: Path, line: str) -> None:
    (tmp_path / "e.jsonl").write_text(f'{{"name": "a"}}\n{line}\n')
    with pytest.raises(DataError, match=r"e\.jsonl:2: not valid Unicode: "):
        read_table(tmp_path / "e.jsonl")


def test_former_rows_that_are_too_deep(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"name,set_id,merged_from\na,s1,{'[' * 100_000}\n")
    with pytest.raises(DataError, match="this column is not as apply-plan wrote it"):
        undo_plan(Plan(()), read_table(tmp_path / "e.csv"))


def test_rules_that_are_too_deep(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"x\.json: not JSON"):
        read_body(tmp_path / "x.json")


def test_general_weights_whose_description_is_too_deep(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match="does not hold weights of a general model"):
        load_general(folder=tmp_path)


def test_a_field_of_a_call_that_is_half_a_character() -> None:
    with pytest.raises(DataError, match="group: not valid Unicode"):
        tools_of(None)["group"].answer({"names": ["a", {"\ud800name": "b"}]})
