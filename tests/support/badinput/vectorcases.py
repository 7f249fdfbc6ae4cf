"""Bad vectors."""

from __future__ import annotations

import struct

import numpy as np
from safetensors.numpy import save

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import OVER, Make, bomb, files, gzip_text, nothing, repeat

GOOD = "2 2\na 1 2\nb 3 4\n"


def _convert(
    name: str, content: str | bytes | Make, what: str, code: int, says: str, *more: str
) -> Case:
    make = content if callable(content) else files({name: content})
    command = ("convert", name, "out.bin", *more)
    return Case("vectors", what, make, command, code, says, ("out.bin",) if code == 0 else ())


def _own(matrix: object, names: bytes = b"ab", ends: tuple[int, ...] = (1, 2)) -> bytes:
    tensors = {
        "matrix": np.array(matrix),
        "names": np.frombuffer(names, np.uint8),
        "name_ends": np.array(ends, np.int64),
    }
    return bytes(save(tensors, {"format": "synsetmine-vectors 1"}))


F32 = np.float32
VECTOR_CASES = (
    _convert("v.txt", "", "an empty file", 1, "v.txt: no vectors in this file"),
    _convert("v.txt", nothing, "a missing file", 1, "v.txt: No such file or directory; …"),
    _convert(
        "v.txt",
        files({"v.txt/x": ""}),
        "a folder for a file",
        1,
        "v.txt: Is a directory; name a file",
    ),
    _convert(
        "v.txt", GOOD[:-6], "text that breaks off", 1, "v.txt:2: the file ends after 1 of 2 vectors"
    ),
    _convert(
        "v.txt",
        "2 2\na 1 2\nb 3\n",
        "a vector that is too short",
        1,
        "v.txt:3: expected a term and 2 numbers: 'b 3'",
    ),
    _convert(
        "v.txt",
        "2 2\na 1 2 3\nb 3 4 5\n",
        "vectors longer than the first line says",
        1,
        "v.txt:3: more than 2 numbers after a term",
    ),
    _convert(
        "v.txt",
        "a 1 2\nb 3 4 5\n",
        "vectors of different lengths",
        1,
        "v.txt:2: expected a term and 2 numbers: 'b 3 4 5'",
    ),
    _convert(
        "v.txt", "2 2\na 1 nan\nb 3 4\n", "NaN", 1, "v.txt:2: not a finite vector: 'a [1.0, nan]'"
    ),
    _convert(
        "v.txt",
        "2 2\na 1 1e999\nb 3 4\n",
        "an infinite number",
        1,
        "v.txt:2: not a finite vector: 'a [1.0, inf]'",
    ),
    _convert(
        "v.txt",
        "2 2\na 1 x\nb 3 4\n",
        "a word for a number",
        1,
        "v.txt:2: expected a term and 2 numbers: 'a 1 x'",
    ),
    _convert(
        "v.txt",
        "2 2\na 1 2\na 3 4\n",
        "a term with two vectors",
        1,
        "v.txt:3: this term already has a vector: 'a'",
    ),
    _convert(
        "v.txt",
        "2 99999999\na 1 2\n",
        "a dimension of 99,999,999",
        1,
        "v.txt:1: expected `count dimension` with a dimension from 1 to 1000000: '2 99999999'",
    ),
    _convert(
        "v.txt",
        "2 2\nZ\xfcr 1 2\nb 3 4\n".encode("latin-1"),
        "Latin-1",
        1,
        "v.txt:2: not UTF-8: b'Z\\xfcr 1 2\\n'; save the file as UTF-8",
    ),
    _convert(
        "v.txt",
        GOOD.encode("utf-16"),
        "UTF-16",
        1,
        "v.txt:1: not UTF-8: b'\\xff\\xfe2\\x00 \\x002\\x00\\n'; the file is UTF-16; …",
    ),
    _convert("v.txt", "\ufeff" + GOOD.replace("\n", "\r\n"), "a byte order mark, and CRLF", 0, ""),
    _convert(
        "v.txt",
        files({"v.txt": repeat("1 ", OVER, "a ", "\n")}),
        "a line of 65 MiB",
        1,
        "v.txt:1: a line is longer than 64 MiB: b'a 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1…",
    ),
    _convert(
        "v.txt",
        "a " + "1 " * 10_000_000 + "\n",
        "a dimension of 10,000,000, on one line",
        1,
        "v.txt:1: more than 1,000,000 numbers on a line: 'a 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1…",
    ),
    _convert(
        "v.txt.gz",
        gzip_text(GOOD)[:-9],
        "a .gz file that is cut",
        1,
        "v.txt.gz: damaged gzip file: 'Compressed file ended before the end-of-stream mar…",
    ),
    _convert(
        "v.txt.gz",
        files({"v.txt.gz": bomb}),
        "a gzip bomb of one line",
        1,
        "v.txt.gz:1: a line is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
    ),
    _convert(
        "v.txt",
        "3 2\na 1 2\nb 3 x\nc 5 6\n",
        "a broken line, with --skip-bad",
        0,
        "left out 1 broken line:",
        "--skip-bad",
    ),
    _convert("v.bin", b"", "an empty binary file", 1, "v.bin:1: expected `count dimension`: ''"),
    _convert(
        "v.bin",
        b"\x00" * 200,
        "a binary file without its first line",
        1,
        "v.bin:1: expected `count dimension`: '\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00…",
    ),
    _convert(
        "v.bin",
        b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb ",
        "a binary file that is cut",
        1,
        "v.bin: the file ends within record 2 of 2",
    ),
    _convert(
        "v.bin",
        b"1 2\na " + struct.pack("<2f", 1, float("nan")) + b"\n",
        "NaN in a binary file",
        1,
        "v.bin:1: not a finite vector: 'a [1.0, nan]'",
    ),
    _convert(
        "v.bin",
        b"1 2\nZ\xfcr " + struct.pack("<2f", 1, 2) + b"\n",
        "Latin-1 in a binary file",
        1,
        "v.bin:1: not UTF-8: b'Z\\xfcr'",
    ),
    _convert(
        "v.bin.gz",
        files({"v.bin.gz": lambda: gzip_text("9999999 1000000\n") + bomb()}),
        "a gzip bomb in a binary file",
        1,
        "v.bin.gz: the file ends within record 1 of 9999999",
    ),
    _convert(
        "v.safetensors",
        b"",
        "an empty .safetensors file",
        1,
        "v.safetensors: damaged vector file (Error while deserializing header: header too…",
    ),
    _convert(
        "v.safetensors",
        struct.pack("<Q", 2**60),
        "a .safetensors file with a huge header",
        1,
        "v.safetensors: damaged vector file (Error while deserializing header: header too…",
    ),
    _convert(
        "v.safetensors",
        _own(np.ones((2, 2), F32))[:-4],
        "a .safetensors file that is cut",
        1,
        "v.safetensors: damaged vector file (Error while deserializing header: incomplete…",
    ),
    _convert(
        "v.safetensors",
        bytes(save({"x": np.ones(2, F32)})),
        "a .safetensors file of others",
        1,
        "v.safetensors: not a file of the format 'synsetmine-vectors 1': {}",
    ),
    _convert(
        "v.safetensors",
        _own(np.ones((2, 2))),
        ".safetensors: float64",
        1,
        "v.safetensors: expected a float32 matrix with rows and columns: 'F64 [2, 2]'",
    ),
    _convert(
        "v.safetensors",
        _own(np.ones((3, 2), F32)),
        ".safetensors: more rows than terms",
        1,
        "v.safetensors: 2 terms but 3 vectors",
    ),
    _convert(
        "v.safetensors",
        _own(np.array([[1, np.nan], [1, 2]], F32)),
        ".safetensors: NaN",
        1,
        "this term's vector is not finite: 'a'",
    ),
    _convert(
        "v.safetensors",
        _own(np.ones((2, 2), F32), b"aa"),
        ".safetensors: a term with two vectors",
        1,
        "v.safetensors: a term has two vectors: 'a'",
    ),
    _convert(
        "v.safetensors",
        _own(np.ones((2, 2), F32), b"ab", (2, 1)),
        ".safetensors: names that end before they start",
        1,
        "v.safetensors: a term needs a surface: '||'",
    ),
)
