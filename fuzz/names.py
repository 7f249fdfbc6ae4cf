"""Targets: lists of names with contexts, spreadsheets and PDF files, plans, questions and tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from fuzz.corpora import check_corpus
from fuzz.tables import bytes_of
from fuzz.target import Form, Target, both_ways, require
from synsetmine.corpus.name_lists import ListFormat, NameRow, read_pairs, read_rows
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.export.push import compare_rules, read_body
from synsetmine.pipeline.graph_files import GraphTable, read_table, write_tables
from synsetmine.pipeline.mcp.tools import Tool, tools_of
from synsetmine.pipeline.merging import apply_plan
from synsetmine.pipeline.name_questions import NameInContext, prompt, read_partition
from synsetmine.pipeline.plan import Merge, Plan, PlannedMember, read_plan
from synsetmine.pipeline.proposal import propose_corpus, propose_kb, propose_list
from synsetmine.pipeline.registry import KnownEntity, Registry, read_registry
from synsetmine.pipeline.restoration import undo_plan
from synsetmine.review.web.schemas import ApiError
from synsetmine.text.patterns import find_definitions
from tests.support.officefiles import pdf_of, write_shared, write_sheet

# --- Lists of names, and the columns that `init` proposes for a table ---

ROWS = (("name", "type", "context", "id"), ("IBM", "firm", "A maker of computers.", "7"))


COLUMNS = {
    "column": "name",
    "context_column": "context",
    "type_column": "type",
    "id_column": "id",
}


def _check_list(path: Path, form: ListFormat, columns: Mapping[str, Any]) -> None:
    rows = both_ways(lambda skipped: read_rows(path, format=form, skipped=skipped, **columns))
    for row in rows:
        json.dumps(row).encode()
        require(all(text.strip() for text in row.contexts), "a context without text")
    if form in ("csv", "tsv", "xlsx"):
        for propose in (propose_kb, propose_list, propose_corpus):
            proposal = None
            try:
                proposal = propose(path)
            except SynsetmineError as error:
                require(len(str(error).splitlines()) == 1, "a proposal of several lines")
            if proposal is not None:
                require(len(proposal.sentence.splitlines()) == 1, "a proposal of several lines")


def _list_form(name: str, form: ListFormat, *examples: bytes) -> Form:
    columns = {} if form == "text" else COLUMNS
    return Form(name, lambda path: _check_list(path, form, columns), lambda: examples)


def _check_pairs(path: Path) -> None:
    for pair in read_pairs(path):
        require(all(name.strip() for name in pair), "a pair without a name")


_TABLE = "\n".join(",".join(row) for row in ROWS).encode()

LISTS = Target(
    "lists",
    (
        _list_form("a.txt", "text", "IBM\nI.B.M.\n\né\n".encode()),
        _list_form("a.csv", "csv", _TABLE, b'name;type;context;id\r\n"a;b";;"c\nd";1\r\n'),
        _list_form("a.tsv", "tsv", _TABLE.replace(b",", b"\t")),
        _list_form(
            "a.jsonl",
            "jsonl",
            b'{"name": "IBM", "type": null, "context": ["A maker."], "id": 7}\n{"name": 1.5}\n',
        ),
        Form("pairs.tsv", _check_pairs, lambda: [b"name\tother\nIBM\tApple\n"]),
        Form("pairs.jsonl", _check_pairs, lambda: [b'["IBM", "Apple"]\n']),
    ),
    words=('"name": ', '"context": [', '"type"', "name,type,context,id\n", '""', "NaN", "\\ud800"),
)


# --- Spreadsheets and PDF files: as they are, and parts that are packed before they are read ---


def _packed(check: Callable[[Path], None]) -> Callable[[Path], None]:
    """The check of a spreadsheet of which an input is the strings and the cells."""

    def write_and_check(path: Path) -> None:
        strings, _, cells = path.read_bytes().decode("utf-8", "surrogateescape").partition("\n\n")
        try:
            write_shared(path, strings, cells)
        except UnicodeEncodeError:
            return  # such a part cannot be written
        check(path)

    return write_and_check


def _check_sheet(path: Path) -> None:
    _check_list(path, "xlsx", {"column": "name"})
    check_corpus(path, "xlsx")


_STRINGS = """<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="2">
<si><t>name</t></si><si><r><t>I</t></r><r><t xml:space="preserve">BM </t></r></si></sst>

<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>text</t></is></c></row>
<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><f>1+1</f><v>2</v></c><c t="b"><v>1</v></c></row>
<row r="4"><c r="A4" t="d"><v>2026-01-01</v></c><c r="XFD4" t="e"><v>#N/A</v></c></row>"""

OFFICE = Target(
    "office",
    (
        Form(
            "sheet.xlsx",
            _check_sheet,
            lambda: [
                bytes_of(
                    lambda p: write_sheet(p, [("name", "text", *ROWS[0][1:]), ("a", "b")]), "s"
                )
            ],
        ),
        Form("packed.xlsx", _packed(_check_sheet), lambda: [_STRINGS.encode()]),
        Form(
            "a.pdf",
            lambda path: check_corpus(path, "pdf"),
            lambda: [pdf_of(["A text", "of two lines"], ["and a page"])],
        ),
    ),
    words=(
        *('t="s"', 't="inlineStr"', 't="n"', "<v>1e999</v>", "<v>-1</v>", 'r="A99999999"', "&#x0;"),
        *(" obj\n", "endobj", "/Kids[4 0 R]", "/Parent 2 0 R", "/Contents", "/Filter/FlateDecode"),
        *(
            "/ObjStm",
            "/Encrypt",
            "/ToUnicode",
            "BT",
            "Tj",
            "TJ",
            "Do",
            "/Font",
            "xref\n",
            "trailer",
        ),
    ),
)


# --- Plans, registries and the tables that a plan is applied to ---


def _check_plan(path: Path) -> None:
    plan = read_plan(path)
    again = path.with_name("again.jsonl")
    plan.write(again)
    written = read_plan(again)
    written.write(path.with_name("third.jsonl"))
    require(read_plan(path.with_name("third.jsonl")) == written, "a plan that is another")
    require([m.id for m in written] == [m.id for m in plan], "other merges when written")


def _check_registry(path: Path) -> None:
    registry = read_registry(path)
    again = path.with_name("again.jsonl")
    registry.write(again)
    require(read_registry(again) == registry, "a registry that is another when written")


PLAN = Plan(
    (
        Merge(
            "s1",
            "IBM",
            (
                PlannedMember("IBM", 2, 0.9, True, "firm", ids=("1",)),
                PlannedMember("I.B.M.", 1, 0.75, ids=("2",)),
            ),
            "firm",
            0.75,
        ),
        Merge("s2", "b", (PlannedMember("b"), PlannedMember("B.", identified_by="type", type="x"))),
    )
)
_KNOWN = Registry(
    (KnownEntity("e1", (NameRow("IBM", "firm", 0, ("A maker.",)), NameRow("I.B.M.")), ("1",)),),
    (("IBM", "Apple"),),
)
_ENTITIES = b"id,name,type,description\n1,IBM,firm,a\n2,I.B.M.,firm,b\n3,b,,\n4,B.,x,c\n"
_JSON = b"""{"id": "1", "name": "IBM", "type": "firm", "description": ["a"]}
{"id": 2, "name": "I.B.M.", "x": {"y": [1, null]}}
{"name": "b"}
"""


def _check_merged(path: Path) -> None:
    """A plan is applied and undone; the table is the same again, and so is the plan's file."""
    table = read_table(path)
    applied = apply_plan(PLAN, table).entities
    out = path.with_name(f"merged-{path.name}")
    write_tables({out: applied})
    restored = undo_plan(PLAN, read_table(out)).entities
    require(_cells(restored) == _cells(table), "another table when a plan is undone")


def _cells(table: GraphTable) -> list[Any]:
    return [table.columns, *(table.values(column) for column in table.columns)]


PLANS = Target(
    "plans",
    (
        Form("plan.jsonl", _check_plan, lambda: [bytes_of(PLAN.write, "plan.jsonl")]),
        Form("registry.jsonl", _check_registry, lambda: [bytes_of(_KNOWN.write, "r.jsonl")]),
        Form("entities.csv", _check_merged, lambda: [_ENTITIES, _ENTITIES.replace(b"\n", b"\r\n")]),
        Form("entities.tsv", _check_merged, lambda: [_ENTITIES.replace(b",", b"\t")]),
        Form("entities.jsonl", _check_merged, lambda: [_JSON]),
    ),
    words=(
        *('"canonical": ', '"members": [', '"name": ', '"ids": [', '"rows": [', '"identified_by"'),
        *(
            '"never": [',
            '"names": [',
            '"sense": ',
            "IBM",
            "I.B.M.",
            "merged_from",
            "set_id",
            "1e999",
        ),
    ),
)


# --- Questions to language models and their answers, calls of tools, rules of search engines ---


def _check_prompt(path: Path) -> None:
    """A name, a type and a context that want to leave their place in the question."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    name, type_, context = [*text.split("\n\n", 2), "", ""][:3]
    asked = prompt([NameInContext(name, type_, (context,)), NameInContext("b")])
    asked.encode()
    content = json.loads(asked)
    require(list(content) == ["names"] and len(content["names"]) == 2, "other names")
    require([one["number"] for one in content["names"]] == [1, 2], "other numbers")
    require(content["names"][1] == {"number": 2, "name": "b"}, "another name was changed")
    require(set(content["names"][0]) <= {"number", "name", "type", "contexts"}, "other fields")
    require(not any(char in asked for char in "<>|`\n\r\x1b\u2028\u202e"), "markup in a question")


def _check_answer(path: Path) -> None:
    try:
        partition = read_partition(path.read_bytes().decode("utf-8", "replace"), 4)
    except ValueError as error:
        require(len(str(error).splitlines()) == 1, "an error of several lines")
        return
    require(sorted(n for part in partition for n in part) == [0, 1, 2, 3], "no partition")


@cache
def _tools() -> Mapping[str, Tool]:
    return tools_of(None)


def _check_call(path: Path) -> None:
    """A call as JSON: `{"tool": …, "arguments": …}`, as the protocol's library passes it."""
    try:
        call = json.loads(path.read_bytes().decode("utf-8", "replace"))
        tool, arguments = _tools()[call["tool"]], call["arguments"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # which the library answers
    if not isinstance(arguments, dict):
        return
    try:
        result = tool.answer(arguments)
    except ApiError as error:
        raise DataError(str(error)) from None
    msgspec.json.encode(result)


def _check_rules(path: Path) -> None:
    rules = read_body(path)
    require(not compare_rules(rules, rules), "rules that differ from themselves")
    body = path.with_name("again.json")
    entries = [{"id": rule_id, "synonyms": rule} for rule_id, rule in rules.items()]
    body.write_text(json.dumps({"synonyms_set": entries}))
    require(read_body(body) == rules, "rules that are others when they are sent")


def _check_definitions(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    for found in find_definitions(text):
        for start, end in (found.short, found.long):
            require(0 <= start < end <= len(text), "an abbreviation beyond its text")


_CALLS = (
    {"tool": "group", "arguments": {"names": ["IBM", {"name": "I.B.M.", "contexts": "A maker"}]}},
    {"tool": "explain", "arguments": {"name": "a b", "other": "b a", "contexts": ["c"]}},
    {"tool": "expand", "arguments": {"term": "IBM", "among": ["I.B.M.", "Apple"]}},
    {"tool": "score", "arguments": {"set": ["IBM"], "terms": ["Apple"]}},
)

ASKED = Target(
    "asked",
    (
        Form("prompt.txt", _check_prompt, lambda: [b"IBM\n\nfirm\n\nA maker of computers."]),
        Form(
            "answer.txt",
            _check_answer,
            lambda: [b'{"sets": [[1, 3], [2], [4]]}', b'```json\n{"sets": [[1, 2, 3, 4]]}\n```\n'],
        ),
        Form("call.json", _check_call, lambda: [json.dumps(call).encode() for call in _CALLS]),
        Form(
            "rules.json",
            _check_rules,
            lambda: [b'{"synonyms_set": [{"id": "s1", "synonyms": "ibm, i.b.m. => ibm"}]}'],
        ),
        Form("rules.txt", _check_rules, lambda: [b"ibm, big blue\na\\,b => c\n"]),
        Form(
            "definitions.txt",
            _check_definitions,
            lambda: ["Heart attack (HA), or MI (myocardial infarction; é).".encode()],
        ),
    ),
    words=(
        *(
            '{"sets": [',
            "]]}",
            "```",
            "<|im_end|>",
            "</s>",
            "[INST]",
            '"}, {"number": 3',
            "\\u202e",
        ),
        *('"among": [', '"contexts": [', '"precision": ', '"unsure": ', '"type": ', "\\ud800"),
        *('"synonyms_set": [', '"synonyms": "', " => ", " (", "), "),
    ),
)
