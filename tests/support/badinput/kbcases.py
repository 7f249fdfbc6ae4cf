"""Bad knowledge bases."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, OVER, Make, bomb, files, gzip_text, nothing, repeat

OUT = "knowledge.arrow"
GOOD = '{"id": "D1", "name": "copper toxicosis"}\n'


def read(
    name: str, content: str | bytes | Make, what: str, code: int, says: str, *more: str
) -> Case:
    make = content if callable(content) else files({name: content})
    leaves = (OUT,) if code == 0 else ()
    return Case(
        "knowledge base", what, make, ("knowledge", name, "-o", OUT, *more), code, says, leaves
    )


def _jsonl(line: str | bytes, what: str, says: str) -> Case:
    raw = line.encode() if isinstance(line, str) else line
    return read("k.jsonl", GOOD.encode() + raw + b"\n", what, 0, says)


_ANY = (
    read("k.jsonl", "", "an empty file", 1, "k.jsonl: no entities with a usable name in this file"),
    read("k.jsonl", nothing, "a missing file", 1, "k.jsonl: No such file or directory; …"),
    read(
        "k.jsonl",
        files({"k.jsonl/a.jsonl": GOOD}),
        "a folder for a file",
        1,
        "k.jsonl: Is a directory; name a file",
    ),
    read(
        "k.what",
        "good, better\n",
        "an unknown format",
        1,
        "k.what: cannot tell the format of this file; name one of saved, jsonl, csv, tsv,…",
    ),
    read(
        "k.jsonl.gz",
        gzip_text(GOOD * 9999)[:-30],
        "a .gz file that is cut",
        1,
        "k.jsonl.gz: damaged gzip file: 'Compressed file ended before the end-of-stream m…",
    ),
    read(
        "k.jsonl.gz",
        files({"k.jsonl.gz": bomb}),
        "a gzip bomb of one line",
        1,
        "k.jsonl.gz: no entities with a usable name in this file; 1 left out, such as k.j…",
    ),
    read(
        "k.jsonl",
        GOOD.encode("utf-16"),
        "UTF-16",
        1,
        "k.jsonl: no entities with a usable name in this file; 2 left out, such as k.json…",
    ),
    read("k.jsonl", "\ufeff" + GOOD.replace("\n", "\r\n"), "a byte order mark, and CRLF", 0, ""),
    read(
        "k.jsonl",
        files({"k.jsonl": repeat("a ", OVER, GOOD + '{"id": "D2", "name": "', '"}\n')}),
        "a line of 65 MiB",
        0,
        '1 left out: k.jsonl:2: a line is longer than 64 MiB: b\'{"id": "D2", "name": "a a…',
    ),
    read(
        "k.jsonl",
        files({"k.jsonl": repeat("a ", 2**25, '{"id": "D2", "name": "', '"}\n' + GOOD)}),
        "a name of 32 MiB",
        0,
        "1 left out: k.jsonl:1: a name is longer than 10,000 characters: 'a a a a a a a a…",
    ),
)
_LINES = (
    _jsonl(
        "Zür".encode("latin-1"),
        "a line in Latin-1",
        "1 left out: k.jsonl:2: not UTF-8: b'Z\\xfcr\\n'; save the file as UTF-8",
    ),
    _jsonl(
        GOOD[:20],
        "a truncated line of JSON",
        '1 left out: k.jsonl:2: not JSON: \'{"id": "D1", "name":\'',
    ),
    _jsonl(
        '["D2"]',
        "a JSON list for an object",
        "1 left out: k.jsonl:2: expected a JSON object: '[\"D2\"]'",
    ),
    _jsonl(
        '{"id": "D2", "name": 7}',
        "a number for a name",
        '1 left out: k.jsonl:2: expected a string in the field \'name\': \'{"id": "D2", "nam…',
    ),
    _jsonl(
        '{"id": true, "name": "a"}',
        "a boolean for an id",
        '1 left out: k.jsonl:2: expected a string in the field \'id\': \'{"id": true, "name"…',
    ),
    _jsonl(
        '{"id": "D2", "name": "a", "synonyms": "b"}',
        "a string for a list of names",
        "1 left out: k.jsonl:2: expected a list of strings in the field 'synonyms': 'b'",
    ),
    _jsonl(
        '{"id": "", "name": "a"}', "an empty id", "1 left out: k.jsonl:2: an entity needs an id: ''"
    ),
    _jsonl(
        '{"id": "D\\n2", "name": "a"}',
        "an id with a line end",
        "1 left out: k.jsonl:2: an id must not contain a tab, line break or '||', or start with…",
    ),
    _jsonl(
        '{"id": "D2", "name": "--"}',
        "a name without a letter or digit",
        "1 left out: k.jsonl: an entity without a usable name: 'D2'",
    ),
    _jsonl(
        '{"id": "D2", "name": "a\\ud800"}',
        "half of a surrogate pair",
        "1 left out: k.jsonl:2: ids and names must be valid Unicode: 'a\\ud800'",
    ),
    _jsonl(
        '{"id": ' + "[" * DEEP,
        "JSON nested 100,000 deep",
        '1 left out: k.jsonl:2: not JSON: \'{"id": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…',
    ),
    _jsonl(GOOD, "a duplicate entity", ""),
    _jsonl(
        '{"id": "D2", "name": "a\\tb\\nc\\u0000d\\u202ee"}',
        "a name with tab, line end, NUL and right-to-left mark",
        "",
    ),
    _jsonl(
        '{"id": "D2", "name": "сopper toxicosis"}',
        "a name with a letter that looks like another",
        "",
    ),
)
_TABLES = (
    read("k.csv", "", "an empty CSV file", 1, "k.csv: no entities with a usable name in this file"),
    read(
        "k.csv",
        "code,label\n1,a\n",
        "CSV without the columns",
        1,
        "k.csv:1: expected a header with the columns 'id' and 'name'; found: 'code, label'; "
        "choose columns with --id-field and --name-field, in a project as id_field and name_field "
        "of [kb]; `synsetmine init` proposes them",
    ),
    read(
        "k.csv",
        'id,name\n1,a\n2,"b\n3,c\n',
        "CSV with a quote that is never closed",
        0,
        "1 left out: k.csv:3: malformed row: 'unexpected end of data'",
    ),
    read(
        "k.csv",
        "id,name\n1,a\n2,b,c\n",
        "CSV with a row that is too long",
        0,
        "1 left out: k.csv:3: a row with more or fewer fields than the header: '2, b, c'",
    ),
    read(
        "k.csv",
        "id,name,preferred\n1,a,yes\n1,b,perhaps\n",
        "CSV: neither yes nor no in the column preferred",
        0,
        "1 left out: k.csv:3: expected yes or no in the column of preferred names: 'perhaps'",
    ),
    read(
        "k.tsv",
        "id\tname\n1\ta\n2\n",
        "TSV with a row that is too short",
        0,
        "1 left out: k.tsv:3: a row with more or fewer fields than the header: '2'",
    ),
    read(
        "k.csv.gz",
        files({"k.csv.gz": lambda: gzip_text('id,name\n1,a\n2,"') + bomb(b"a" * 65535 + b"\n", 2)}),
        "a gzip bomb in a CSV field",
        0,
        "1 left out: k.csv.gz:3: malformed row: 'field larger than field limit (131072)'",
    ),
)
KB_CASES = (*_ANY, *_LINES, *_TABLES)
