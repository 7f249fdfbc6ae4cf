"""Bad corpora."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, OVER, Make, bomb, files, gzip_text, nothing, repeat

OUT = "documents.parquet"
GOOD = '{"id": "1", "text": "A good text."}\n'


def read(
    name: str, content: str | bytes | Make, what: str, code: int, says: str, *more: str
) -> Case:
    make = content if callable(content) else files({name: content})
    leaves = (OUT,) if code == 0 else ()
    return Case("corpus", what, make, ("read", name, "-o", OUT, *more), code, says, leaves)


def _jsonl(line: str | bytes, what: str, says: str) -> Case:
    """A broken line after a good one: it is left out, and counted."""
    raw = line.encode() if isinstance(line, str) else line
    return read("c.jsonl", GOOD.encode() + raw + b"\n", what, 0, says)


_ANY = (
    read("c.jsonl", "", "an empty file", 1, "c.jsonl: no documents; name files with text"),
    read("c.txt", " \n\n\t\n", "blank lines only", 1, "c.txt: no documents; name files with text"),
    read("c.jsonl", nothing, "a missing file", 1, "c.jsonl: no such file or folder; …"),
    read(
        "*.jsonl",
        nothing,
        "a pattern without a match",
        1,
        "no file matches this pattern: '*.jsonl'",
    ),
    read(
        "c",
        files({"c/notes.doc": "x"}),
        "a folder without a known file extension",
        1,
        "c: no corpus files in this folder (extensions: .pubtator.txt, .pubtator, .txt…",
    ),
    read(
        "c.doc",
        "x",
        "an unknown file extension",
        1,
        "c.doc: unknown file extension; name the format or use one of .pubtator.txt, .pubtator,…",
    ),
    read(
        "c.jsonl.gz",
        gzip_text(GOOD * 9999)[:-30],
        "a .gz file that is cut",
        0,
        "1 left out: c.jsonl.gz: damaged gzip file: 'Compressed file ended before the end…",
    ),
    read(
        "c.jsonl.gz",
        GOOD,
        "a .gz file that is not one",
        1,
        "c.jsonl.gz: no documents; 1 left out, such as c.jsonl.gz: damaged gzip file: 'No…",
    ),
    read(
        "c.jsonl.bz2",
        GOOD,
        "a .bz2 file that is not one",
        1,
        "c.jsonl.bz2: no documents; 1 left out, such as c.jsonl.bz2: damaged bzip2 file:…",
    ),
    read(
        "c.jsonl.zst",
        GOOD,
        "a .zst file that is not one",
        1,
        "c.jsonl.zst: no documents; 1 left out, such as c.jsonl.zst: damaged zstd file: '…",
    ),
    read(
        "c.txt.gz",
        files({"c.txt.gz": bomb}),
        "a gzip bomb of one line",
        1,
        "c.txt.gz: no documents; 1 left out, such as c.txt.gz:1: a line is longer than 64…",
    ),
    read(
        "c.jsonl",
        GOOD.encode("utf-16"),
        "UTF-16",
        1,
        "c.jsonl: no documents; 2 left out, such as c.jsonl:1: not UTF-8: b'\\xff\\xfe{\\x00…",
    ),
    read("c.jsonl", "\ufeff" + GOOD.replace("\n", "\r\n"), "a byte order mark, and CRLF", 0, ""),
)
_LINES = (
    _jsonl(
        "Zür".encode("latin-1"),
        "a line in Latin-1",
        "1 left out: c.jsonl:2: not UTF-8: b'Z\\xfcr\\n'; save the file as UTF-8",
    ),
    _jsonl(
        GOOD[:20],
        "a truncated line of JSON",
        '1 left out: c.jsonl:2: not JSON: \'{"id": "1", "text": \'',
    ),
    _jsonl(
        '["A text."]',
        "a JSON list for an object",
        "1 left out: c.jsonl:2: expected a JSON object: '[\"A text.\"]'",
    ),
    _jsonl(
        '{"text": 7}', "a number for a text", "1 left out: c.jsonl:2: the text is not a string: 7"
    ),
    _jsonl(
        '{"title": "A text."}',
        "no text field",
        "1 left out: c.jsonl:2: the record has no text field: 'text'",
    ),
    _jsonl('{"text": " "}', "an empty text", "1 left out: c.jsonl:2: the document is empty"),
    _jsonl(
        '{"text": "A", "id": [1]}',
        "a list for an id",
        "1 left out: c.jsonl:2: the id is neither a string nor a whole number: '[1]'",
    ),
    _jsonl(
        '{"text": ' + "[" * DEEP,
        "JSON nested 100,000 deep",
        '1 left out: c.jsonl:2: not JSON: \'{"text": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…',
    ),
    _jsonl(
        '{"text": "A\\u0000B"}',
        "a NUL character",
        "1 left out: c.jsonl:2: the text contains a NUL character: 'A\\x00B'",
    ),
    _jsonl(
        '{"text": "A\\ud800"}',
        "half of a surrogate pair",
        "1 left out: c.jsonl:2: not valid Unicode: 'A\\ud800'",
    ),
    _jsonl(
        '{"text": ' + "9" * 5000 + "}",
        "a number of 5,000 digits",
        '1 left out: c.jsonl:2: not JSON: \'{"text": 9999999999999999999999999999999999999…',
    ),
    _jsonl('{"id": "1", "text": "Another."}', "a duplicate id", ""),
    _jsonl('{"text": "a\\tb\\nc\\u202ed"}', "tabs, line ends and right-to-left marks", ""),
    read(
        "c.jsonl",
        files({"c.jsonl": repeat("a ", OVER, GOOD + '{"text": "', '"}\n')}),
        "a line of 65 MiB",
        0,
        '1 left out: c.jsonl:2: a line is longer than 64 MiB: b\'{"text": "a a a a a a a a…',
    ),
    read(
        "c.jsonl",
        files({"c.jsonl": repeat("a ", 2**24, '{"text": "', '"}\n')}),
        "a line of 16 MiB",
        0,
        "",
    ),
)
CORPUS_CASES = (*_ANY, *_LINES)
