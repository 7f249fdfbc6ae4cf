"""Bad files of sets, of terms and of what was decided on them."""

from __future__ import annotations

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, OVER, Make, bomb, files, gzip_text, nothing, repeat

GOOD = "c1 {'a||1', 'b||1'}\n"


def _convert(
    name: str, content: str | bytes | Make, what: str, code: int, says: str, *more: str
) -> Case:
    make = content if callable(content) else files({name: content})
    command = ("convert", name, "out.jsonl", *more)
    return Case("sets", what, make, command, code, says, ("out.jsonl",) if code == 0 else ())


def _evaluate(predicted: str, gold: str, what: str, code: int, says: str) -> Case:
    make = files({"mined.set": predicted, "gold.set": gold})
    return Case("sets", what, make, ("evaluate", "mined.set", "gold.set"), code, says)


def _million() -> bytes:
    return ("c1 {" + ", ".join(f"'t{i}'" for i in range(1_000_000)) + "}\n").encode()


SET_CASES = (
    _convert("x.set", "", "an empty file", 1, "x.set: no synonym sets in this file"),
    _convert("x.set", nothing, "a missing file", 1, "x.set: No such file or directory; …"),
    _convert(
        "x.set",
        files({"x.set/y": ""}),
        "a folder for a file",
        1,
        "x.set: Is a directory; name a file",
    ),
    _convert(
        "x.set",
        "c1 {'a', 'b\n",
        "a line that is cut",
        1,
        "x.set:1: expected a set of quoted terms: \"{'a', 'b\"",
    ),
    _convert(
        "x.set.gz",
        gzip_text("".join(f"c{i} {{'t{i}'}}\n" for i in range(9999)))[:-30],
        "a .gz file that is cut",
        1,
        "x.set.gz: damaged gzip file: 'Compressed file ended before the end-of-stream mar…",
    ),
    _convert(
        "x.set.gz",
        files({"x.set.gz": bomb}),
        "a gzip bomb of one line",
        1,
        "x.set.gz:1: a line is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    _convert(
        "x.set",
        GOOD + "c1 {'c'}\n",
        "a duplicate id",
        1,
        "x.set:2: line 1 already has this id: 'c1'",
    ),
    _convert(
        "x.set",
        GOOD + "c2 {'b||1', 'c'}\n",
        "a term in two sets",
        1,
        "x.set:2: the set on line 1 already has this term: 'b||1'",
    ),
    _convert(
        "x.set",
        "c1 {'a', 'a'}\n",
        "a term twice in a set",
        1,
        "x.set:1: this term is in the set twice: 'a'",
    ),
    _convert(
        "x.set",
        "c1 {a, b}\n",
        "terms without quotes",
        1,
        "x.set:1: expected a quoted term: 'a, b'",
    ),
    _convert(
        "x.set",
        "c1 {__import__('os')}\n",
        "code for terms",
        1,
        "x.set:1: expected a quoted term: \"__import__('os')\"",
    ),
    _convert(
        "x.set",
        "c1 {" + "{" * DEEP + "\n",
        "brackets nested 100,000 deep",
        1,
        "x.set:1: expected a set of quoted terms: '{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{…",
    ),
    _convert("x.set", "c1 {''}\n", "an empty term", 1, "x.set:1: a term needs a surface: '||'"),
    _convert(
        "x.set",
        "c1 {'\\ud800'}\n",
        "half of a surrogate pair",
        1,
        "x.set:1: a term must be valid Unicode: '\\ud800'",
    ),
    _convert(
        "x.set", b"c1 {'Z\xfcr'}\n", "Latin-1", 1, "x.set:1: not UTF-8: b\"c1 {'Z\\xfcr'}\\n\"; …"
    ),
    _convert(
        "x.set",
        GOOD.encode("utf-16"),
        "UTF-16",
        1,
        "x.set:1: not UTF-8: b…",
    ),
    _convert("x.set", "\ufeff" + GOOD.replace("\n", "\r\n"), "a byte order mark, and CRLF", 0, ""),
    _convert(
        "x.set",
        "c1 {'a\\tb', 'a\\nb', 'a\\0b', 'a\\u202eb'}\n",
        "tabs, line ends, NUL and right-to-left marks",
        0,
        "",
    ),
    _convert("x.set", "c1 {'a', 'а', 'ａ'}\n", "letters that look like others", 0, ""),
    _convert("x.set", "c1 {'a'}\n", "a set of one", 0, ""),
    _convert("x.set", files({"x.set": _million}), "a set of a million terms", 0, ""),
    _convert(
        "x.set",
        files({"x.set": repeat("a", OVER, "c1 {'", "'}\n")}),
        "a line of 65 MiB",
        1,
        "x.set:1: a line is longer than 64 MiB: b\"c1 {'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    _convert(
        "x.set",
        "c1 {a, b}\nc2 {'c'}\n",
        "a broken line, with --skip-bad",
        0,
        "left out 1 broken line:",
        "--skip-bad",
    ),
    _convert(
        "x.jsonl",
        '{"id": "c1", "terms": ["a"]\n',
        "JSON that is cut",
        1,
        'x.jsonl:1: not JSON: \'{"id": "c1", "terms": ["a"]\'',
    ),
    _convert(
        "x.jsonl",
        '["a", "b"]\n',
        "a JSON list for an object",
        1,
        'x.jsonl:1: expected {"id": "…", "terms": ["…", …]}: \'["a", "b"]\'',
    ),
    _convert(
        "x.jsonl",
        '{"id": 1, "terms": ["a"]}\n',
        "a number for an id",
        1,
        'x.jsonl:1: expected {"id": "…", "terms": ["…", …]}: \'{"id": 1, "terms": ["a"]}\'',
    ),
    _convert(
        "x.jsonl",
        '{"id": "c1", "terms": ["a", 1]}\n',
        "a number for a term",
        1,
        'x.jsonl:1: expected {"id": "…", "terms": ["…", …]}: \'{"id": "c1", "terms": ["a",…',
    ),
    _convert(
        "x.jsonl",
        '{"id": "c1", "terms": []}\n',
        "a set without terms",
        1,
        'x.jsonl:1: expected {"id": "…", "terms": ["…", …]}: \'{"id": "c1", "terms": []}\'',
    ),
    _convert(
        "x.jsonl",
        "[" * DEEP + "\n",
        "JSON nested 100,000 deep",
        1,
        "x.jsonl:1: not JSON: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…",
    ),
    _evaluate(GOOD, "", "no true sets", 1, "gold.set: no synonym sets in this file"),
    _evaluate(
        "c1 {'x', 'y'}\n",
        GOOD,
        "mined terms that are all unknown",
        0,
        "2 terms of the true sets were not mined and count as sets of one",
    ),
)
