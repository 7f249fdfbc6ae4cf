"""Bad lists of names, known sets and pairs for `group`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, OVER, Make, bomb, files, gzip_text, nothing, repeat

NAMES = "heart failure\nlung\n"

JUDGE = ("--judge", "http://127.0.0.1:9/v1")


def _group(
    name: str, content: str | bytes | Make, what: str, code: int, says: str, *more: str
) -> Case:
    make = content if callable(content) else files({name: content})
    command = ("group", name, "-o", "out.csv", *more)
    return Case("names", what, make, command, code, says, ("out.csv",) if code == 0 else ())


def _with(option: str, name: str, content: str, what: str, code: int, says: str) -> Case:
    make = files({"x.txt": NAMES, name: content})
    command = ("group", "x.txt", option, name, "-o", "out.csv")
    return Case("names", what, make, command, code, says, ("out.csv",) if code == 0 else ())


def _numbers() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"name": [1, 2]}), sink)
    return bytes(sink.getvalue())


_text = partial(_group, "x.txt")
_csv = partial(_group, "x.csv")
_jsonl = partial(_group, "x.jsonl")

NAME_CASES = (
    _text("", "an empty list", 0, "the input has no names; …"),
    _text("\n \n", "nothing but blank lines", 0, "the input has no names; …"),
    _text("lung\n", "one name", 0, ""),
    _text(nothing, "a missing list", 1, "x.txt: No such file or directory; …"),
    _text(files({"x.txt/y": ""}), "a folder for a list", 1, "x.txt: Is a directory; name a file"),
    _text(b"lung\nZ\xfcrich\n", "a list in Latin-1", 1, "x.txt:2: not UTF-8: b'Z\\xfcrich\\n'; …"),
    _text("\ufefflung\r\nheart\r\n", "a list with a byte order mark and CRLF", 0, ""),
    _text(
        files({"x.txt": repeat("a ", 2**20)}),
        "a megabyte in one name",
        0,
        "1 name not compared: longer than 10,000 characters",
    ),
    _text(
        files({"x.txt": repeat("a", OVER)}),
        "a name of 65 MiB",
        1,
        "x.txt:1: a line is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    _text("Москва\n東京\nالقاهرة\n\u202eabc\na\0b\n", "many scripts, marks and a NUL", 0, ""),
    _group(
        "x.txt.gz",
        gzip_text(NAMES * 999)[:-20],
        "a list in a truncated .gz file",
        1,
        "x.txt.gz: damaged gzip file: 'Compressed file ended before the end-of-stream mar…",
    ),
    _group(
        "x.txt.gz",
        files({"x.txt.gz": bomb}),
        "a gzip bomb for a list",
        1,
        "x.txt.gz:1: a line is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    _text(
        NAMES,
        "a column of a text",
        1,
        "x.txt: plain text has no columns such as 'name'; if this is a table, name its format: "
        "csv, tsv, xlsx, jsonl or parquet",
        "--column",
        "name",
    ),
    _csv(
        "id,value\n1,a\n",
        "a table without a column of names",
        1,
        "x.csv:1: cannot tell which column has the names; name one of id, value; use "
        "--name-column, in a project name_column of [vocabulary], in Python `column`",
    ),
    _csv(
        "id,value\n1,a\n",
        "a missing column",
        1,
        "x.csv:1: no column has this name; the columns are id, value: 'title'",
        "--column",
        "title",
    ),
    _csv(
        "id,name\n1,a\n2\n",
        "a row of names that is short",
        1,
        "x.csv:3: number of columns differs from the header: 1",
    ),
    _csv(
        "id,name\n1,a\n2\n",
        "a short row of names, with --skip-bad",
        0,
        "left out 1 broken line:",
        "--skip-bad",
    ),
    _csv('id,name\n1,"a\n', "an unclosed quote", 1, "x.csv:2: malformed row: 'unexpe…"),
    _csv("id,name\n1,=cmd|x\n2,\n", "a formula and an empty cell for names", 0, ""),
    _jsonl('{"name": "a"\n', "names in truncated JSON", 1, 'x.jsonl:1: not JSON: \'{"name": "a"\''),
    _jsonl(
        '{"name": ["a"]}\n', "a list for a name", 1, "x.jsonl:1: a name must be a string: ['a']"
    ),
    _jsonl(
        '"a"\n{"name": "\\ud800"}\n',
        "half of a surrogate pair in a name",
        1,
        "x.jsonl:2: not valid Unicode: '\\ud800'",
    ),
    _jsonl(
        "[" * DEEP + "\n",
        "names in JSON nested 100,000 deep",
        1,
        "x.jsonl:1: not JSON: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…",
    ),
    _group("x.parquet", "PAR1", "a damaged Parquet list", 1, "x.parquet: damaged Parquet file: …"),
    _group(
        "x.parquet",
        files({"x.parquet": _numbers}),
        "numbers for names",
        1,
        "x.parquet:1: a name must be a string: 1",
    ),
    _with(
        "--known",
        "known.jsonl",
        '{"id": "c1"}\n',
        "known sets without names",
        1,
        'known.jsonl:1: expected {"id": "…", "terms": ["…", …]}: \'{"id": "c1"}\'',
    ),
    _with(
        "--known",
        "known.set",
        "c1 {'Lung', 'pulmo'}\nc2 {'lung', 'the other lung'}\n",
        "a name in two known sets",
        0,
        "1 name not compared: in several known sets",
    ),
    _with(
        "--never", "p.tsv", "lung\n", "a pair of one name", 1, "p.tsv:1: expected two names: 'lung'"
    ),
    _with(
        "--never",
        "p.tsv",
        "lung\tLUNG\n",
        "a pair of two spellings of one name",
        1,
        "p.tsv:1: two spellings of one name cannot be separated: 'lung / LUNG'",
    ),
    _with(
        "--never",
        "p.jsonl",
        '["lung", 3]\n',
        "a number in a pair",
        1,
        'p.jsonl:1: expected ["name", "other name"]: \'["lung", 3]\'',
    ),
    _with(
        "--never",
        "p.csv",
        "lung,liver\n",
        "a pair with an unknown name",
        0,
        "1 pair of --never or --always left out: a name is neither in the list nor in a known set",
    ),
    Case(
        "names",
        "a pair that must and must not share a set",
        files({"x.txt": "lung\nliver\n", "p.tsv": "lung\tliver\n"}),
        ("group", "x.txt", "--never", "p.tsv", "--always", "p.tsv"),
        0,
        "1 pair of --always left out: --never, types or known sets forbid it",
    ),
    Case(
        "names",
        "ids without a plan",
        files({"x.csv": "id,name\n1,lung\n"}),
        ("group", "x.csv", "--id-column", "id"),
        1,
        "--id-column needs --plan",
    ),
    Case(
        "names",
        "a pair that a known set has",
        files({"x.txt": NAMES, "k.set": "c1 {'lung', 'pulmo'}\n", "p.tsv": "lung\tpulmo\n"}),
        ("group", "x.txt", "--known", "k.set", "--never", "p.tsv", "-o", "out.csv"),
        1,
        "p.tsv:1: both names of this cannot-link pair are in one known set: 'lung / pulmo'; "
        "move one of them to a set of its own, on a line with another id",
    ),
    Case(
        "names",
        "an unknown file extension",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "-o", "out.xlsx"),
        1,
        "unknown file extension; expected .jsonl, .csv, .parquet, .txt; all but .parquet "
        "also with .gz, .bz2 or .zst: 'out.xlsx'",
    ),
    Case(
        "names",
        "an unknown level of precision",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "--precision", "perfect"),
        1,
        "the precision must be cautious, balanced, bold or a number from 0 to 1: 'perfect'",
    ),
    Case(
        "names",
        "a threshold that is not between 0 and 1",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "--precision", "1.5"),
        1,
        "the precision must be cautious, balanced, bold or a number from 0 to 1: '1.5'",
    ),
    Case(
        "names",
        "the list for its own result",
        files({"x.csv": "name\na\n"}),
        ("group", "x.csv", "-o", "x.csv"),
        1,
        "x.csv: the command already uses this file; name another output file",
    ),
    Case(
        "names",
        "options of a judge without its address",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "--judge-dry-run"),
        1,
        "these options need the address of a language model: --judge URL",
    ),
    Case(
        "names",
        "a judge that is no address",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "--judge", "localhost:8080"),
        1,
        "the judge must be the http(s) address of an endpoint, without ? and #: 'localhost:8080'",
    ),
    Case(
        "names",
        "a judge with a password in its address",
        files({"x.txt": NAMES}),
        ("group", "x.txt", "--judge", "https://me:secret@judge.example/v1"),
        1,
        "the judge's address must have no user and password; put the key into "
        "SYNSETMINE_JUDGE_KEY: …",
    ),
    Case(
        "names",
        "a search engine with a password in its address",
        files({"x.json": '{"synonyms_set": [{"id": "s1", "synonyms": "a, b"}]}'}),
        ("push", "x.json", "--url", "https://me:secret@search.example", "--set", "mined"),
        1,
        "the search engine's address must have no user and password; put the key into "
        "SYNSETMINE_SEARCH_API_KEY or SYNSETMINE_SEARCH_PASSWORD: …",
    ),
    Case(
        "names",
        "rules to push that are no export",
        files({"x.json": '{"rules": []}'}),
        ("push", "x.json", "--url", "https://search.example", "--set", "mined"),
        1,
        "x.json: expected an object with the list `synonyms_set`",
    ),
    Case(
        "names",
        "a damaged cache of a judge",
        files({"x.txt": NAMES, "cache.sqlite": "no database"}),
        ("group", "x.txt", *JUDGE, "--judge-band", "1", "--judge-cache", "cache.sqlite"),
        1,
        "cache.sqlite: damaged cache (file is not a database); delete it to repeat all requests",
    ),
)
