"""Bad input of commands that answer, send or ask: score, rank, serve, mcp, push, judge, lint."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from safetensors.numpy import save

from synsetmine.io.files import sha256
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.models.base import Arrays
from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, bomb, files
from tests.support.officefiles import write_shared

PUSHED = ("--url", "https://search.example", "--set", "mined")
WIDE = 20_000  # dimensions of the vectors of a name


def _case(
    part: str,
    what: str,
    content: str | bytes | Callable[[], bytes],
    command: str,
    says: str,
    code: int = 1,
) -> Case:
    name = next(word for word in command.split() if "." in word)
    return Case(part, what, files({name: content}), tuple(command.split()), code, says)


def _wide_model(folder: Path) -> None:
    """A general model of 45 kB, with vectors of 20,000 dimensions."""
    arrays: Arrays = {
        "pieces": np.frombuffer(b"a", np.uint8),
        "table": np.ones((2, WIDE), np.int8),
        "scales": np.ones(2, np.float32),
        "word_weights": np.zeros(1, np.float32),
        "means": np.zeros(44, np.float32),
        "deviations": np.ones(44, np.float32),
        "w.0": np.zeros((44, 1), np.float32),
        "b.0": np.zeros(1, np.float32),
    }
    scorer = {"kind": "general", "set_function": {"bias": -0.3, "scale": 1.0}}
    _write_model(folder, scorer | {"uses_encoder": False, "adaptation": None}, save(arrays))


def _wide_layers(folder: Path) -> None:
    """A model of the paper of 40 kB, with a layer of 3,000 units."""
    arrays: Arrays = {
        "embed.0.weight": np.zeros((1, 2), np.float32),
        "embed.2.weight": np.zeros((3000, 1), np.float32),
        "embed.2.bias": np.zeros(3000, np.float32),
        "post.1.weight": np.zeros((1, 3000), np.float32),
        "post.1.bias": np.zeros(1, np.float32),
    }
    scorer = {"kind": "paper", "dimension": 2, "embed_sizes": [1, 3000], "post_sizes": []}
    _write_model(folder, scorer | {"dropout": 0.5}, save(arrays))


def _write_model(folder: Path, scorer: dict[str, object], weights: bytes) -> None:
    files({"m/model.safetensors": weights, "x.txt": "a b\nb a\n", "v.txt": "a 1 2\nb 3 4\n"})(
        folder
    )
    digest = sha256(folder / "m/model.safetensors")
    config = {"format": "synsetmine-model", "version": 1, "threshold": 0.5, "training": {}}
    config |= {"scorer": scorer, "sha256": {"model.safetensors": digest}}
    (folder / "m/config.json").write_text(json.dumps(config))


def _model(make: Callable[[Path], None], what: str, command: str, says: str) -> Case:
    return Case("model", what, make, tuple(command.split()), 1, says)


@cache
def _compressed_kb() -> bytes:
    """A saved knowledge base of some kilobytes, with 2 GiB of zeros."""
    with TemporaryDirectory() as name:
        path = Path(name, "x.kb")
        KnowledgeBase.of([Entity("D1", "a")]).save(path)
        table = pa.ipc.open_file(path).read_all()
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())


def _large_sheet(folder: Path) -> None:
    """A spreadsheet of 90 kB whose strings are 90 MB."""
    strings = f"<sst><si><t>{'a' * (90 * 2**20)}</t></si></sst>"
    write_shared(folder / "x.xlsx", strings, '<row r="1"><c r="A1" t="s"><v>0</v></c></row>')


QUERY_CASES = (
    _model(
        _wide_model,
        "vectors of 20,000 dimensions in 45 kB",
        "mine m --vocabulary x.txt -o o.jsonl",
        "m: the weights do not fit config.json (the static encoder has 20000 dimensions of int8; …",
    ),
    _model(
        _wide_model,
        "the same for one set",
        "score m --vocabulary x.txt --set a b",
        "m: the weights do not fit config.json (the static encoder has 20000 dimensions of int8; …",
    ),
    _model(
        _wide_model,
        "the same for a ranking",
        "rank m --vocabulary x.txt --set a",
        "m: the weights do not fit config.json (the static encoder has 20000 dimensions of int8; …",
    ),
    _model(
        _wide_model,
        "the same for a server",
        "serve m --vocabulary x.txt --port 0",
        "m: the weights do not fit config.json (the static encoder has 20000 dimensions of int8; …",
    ),
    _model(
        _wide_model,
        "the same for tools of language models",
        "mcp m --vocabulary x.txt",
        "m: the weights do not fit config.json (the static encoder has 20000 dimensions of int8; …",
    ),
    _model(
        _wide_layers,
        "a layer of 3,000 units",
        "rank m -v v.txt --set a",
        "m: the weights do not fit config.json (a layer of more than 2048 units)",
    ),
    _case(
        "saved knowledge base",
        "a compressed one",
        _compressed_kb,
        "knowledge x.kb --format saved -o o.arrow",
        "x.kb: a compressed knowledge base, which may be of any size",
    ),
    Case(
        "names",
        "a spreadsheet with 90 MB of strings in 90 kB",
        _large_sheet,
        ("group", "x.xlsx"),
        1,
        "x.xlsx: a part of the .xlsx file is longer than 64 MiB: 'xl/sharedstrings.xml'; save …",
    ),
    _case(
        "mcp", "a run that is missing", "", "mcp no.run", "no.run: not a folder; name a model of …"
    ),
    _case("mcp", "a file for a model", "x", "mcp x.txt", "x.txt: not a folder; name a model of …"),
    _case(
        "abbreviations",
        "a corpus that is not UTF-8",
        b"Z\xfcrich (ZH).\n",
        "abbreviations x.txt",
        "left out 1: not UTF-8, such as …",
        0,
    ),
    _case(
        "abbreviations",
        "a gzip bomb",
        bomb,
        "abbreviations x.txt.gz",
        "left out 1: a line is longer than 64 MiB, such as …",
        0,
    ),
    _case(
        "abbreviations",
        "a damaged PDF file",
        b"%PDF-1.7\n",
        "abbreviations x.pdf",
        "left out 1: damaged PDF file, such as …",
        0,
    ),
    _case(
        "push",
        "rules nested 100,000 deep",
        "[" * DEEP,
        f"push x.json {' '.join(PUSHED)}",
        "x.json: not JSON (maximum recursion depth exceeded …",
    ),
    _case(
        "push",
        "a rule of several lines",
        '{"synonyms_set": [{"id": "s1", "synonyms": "a, b\\nc, d"}]}',
        f"push x.json {' '.join(PUSHED)}",
        "x.json: rule 's1' is empty, a comment or several lines: 'a, b\\nc, d'",
    ),
    _case(
        "push",
        "a rule that is no rule",
        '{"synonyms_set": [{"id": "s1", "synonyms": "a => b => c"}]}',
        f"push x.json {' '.join(PUSHED)}",
        "x.json: rule 's1': more than one => in a rule: 'a => b => c'",
    ),
    _case(
        "push",
        "a file of rules without any",
        "# nothing\n",
        f"push x.txt {' '.join(PUSHED)}",
        "x.txt: no rules in this file",
    ),
    _case(
        "push",
        "a set whose name is a path",
        "a, b\n",
        "push x.txt --url https://search.example --set a/../b",
        "the name of a set must have letters, digits, `_`, `-` and `.` only: 'a/../b'",
    ),
    _case(
        "push",
        "an address without http",
        "a, b\n",
        "push x.txt --url file:///etc/passwd --set mined",
        "the search engine must be the http(s) address of an endpoint, without ? and #: 'file:///etc/passwd'",
    ),
    _case(
        "lint",
        "a gzip bomb",
        bomb,
        "lint x.txt.gz",
        "x.txt.gz: the file is longer than 64 MiB: b'aaaa…",
    ),
    _case(
        "init",
        "a table whose header has control characters",
        "a\x1b[31m\tb\u2028c\n1\t2\n",
        "init --corpus x.tsv --kb x.tsv --out new.toml",
        "x.tsv: no column with texts; found: 'a\\x1b[31m, b\\u2028c'",
    ),
)
