"""Mistakes that newcomers make, each with an answer that names the next step."""

from __future__ import annotations

from pathlib import Path

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import files
from tests.support.badinput.world import PORT, taken_port, world

PROJECT = '[corpus]\npath = "corpus.jsonl"\n[kb]\npath = "kb.jsonl"\n'
OUT = ("-o", "out.jsonl")
LEFT = ("run", "run/.lock", "run/manifest.json")
TOO_FEW = "".join(f'{{"id": "s{n}", "terms": ["cat {n}", "tom {n}"]}}\n' for n in range(3))

_write = files(
    {
        "names.txt": "heart attack\nMI\n",
        "names.csv": "id,title\n1,lung\n2,heart\n",
        "semicolons.csv": "code;label\nE1;aspirin\n",
        "empty.txt": "",
        "empty.jsonl": "",
        "plain.txt.gz": "heart\n",
        "names.docx": b"PK\x03\x04\x14\x00\x9d\xff\x00",
        "names.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "secret.xlsx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "half.xlsx": b"PK\x03\x04",
        "latin.txt": b"Z\xfcrich\n",
        "utf16.txt": "heart\n".encode("utf-16-le").join((b"\xff\xfe", b"")),
        "folder/names.txt": "heart\n",
        "abstracts.csv": "id,abstract\n1,A heart attack.\n",
        "paper.pdf": b"%PDF-1.7\n",
        "three.jsonl": TOO_FEW,
        "section.toml": f"{PROJECT}[mien]\nthreshold = 0.5\n",
        "setting.toml": f"{PROJECT}[mine]\ntreshold = 0.5\n",
        "nokb.toml": PROJECT.replace("kb.jsonl", "mesh.jsonl"),
        "kd.toml": PROJECT.replace("kb.jsonl", "kd.jsonl"),
        "gensim.py": "",
    }
)


def everything(folder: Path) -> None:
    world(folder)
    _write(folder)


def _newcomer(what: str, command: str, code: int, says: str, *leaves: str) -> Case:
    return Case("first steps", what, everything, tuple(command.split()), code, says, leaves)


NEWCOMER_CASES: tuple[Case, ...] = (
    _newcomer(
        "a typing error in a file name",
        "group nmaes.txt",
        1,
        "nmaes.txt: No such file or directory; did you mean names.txt?",
    ),
    _newcomer(
        "a file in another folder",
        "group lists/words.txt",
        1,
        "lists/words.txt: No such file or directory; the folder lists does not exist either",
    ),
    _newcomer(
        "a file that is nowhere",
        "evaluate results.jsonl new.jsonl",
        1,
        "results.jsonl: No such file or directory; the current folder is …",
    ),
    _newcomer(
        "an address of the web",
        "group https://example.org/names.txt",
        1,
        "https:/example.org/names.txt: No such file or directory; download it first, and name the "
        "local file",
    ),
    _newcomer("a folder for a file", "group folder", 1, "folder: Is a directory; name a file"),
    _newcomer(
        "a wrong column",
        "group names.csv --column nam",
        1,
        "names.csv:1: no column has this name; the columns are id, title: 'nam'",
    ),
    _newcomer(
        "an empty list",
        "group empty.txt",
        0,
        "the input has no names; write one name on each line",
    ),
    _newcomer(
        "a Word document",
        "group names.docx",
        1,
        "names.docx:1: not UTF-8: b'PK…'; save the document as plain text or CSV",
    ),
    _newcomer(
        "a spreadsheet in an old format",
        "group names.xls",
        1,
        "names.xls: .xls is not a format of name lists; save the sheet as .xlsx or CSV",
    ),
    _newcomer(
        "a spreadsheet with a password",
        "knowledge secret.xlsx -o out.arrow",
        1,
        "secret.xlsx: an old .xls file, or one with a password; save it as .xlsx without a "
        "password, or as CSV",
    ),
    _newcomer(
        "a damaged spreadsheet",
        "init --corpus corpus.jsonl --kb half.xlsx --out new.toml",
        1,
        "half.xlsx: damaged .xlsx file: 'File is not a zip file'; open it and save it again, or "
        "save the sheet as CSV",
    ),
    _newcomer(
        "text in Latin-1",
        "group latin.txt",
        1,
        "latin.txt:1: not UTF-8: b'Z\\xfcrich\\n'; save the file as UTF-8",
    ),
    _newcomer(
        "a .gz file that is not compressed",
        "group plain.txt.gz",
        1,
        "plain.txt.gz: damaged gzip file: \"Not a gzipped file (b'he')\"; if it is not "
        "compressed, remove .gz from its name",
    ),
    _newcomer(
        "an unknown format for the result",
        "group names.txt -o sets.docx",
        1,
        "unknown file extension; expected .jsonl, .csv, .parquet, .txt; …: 'sets.docx'",
    ),
    _newcomer(
        "a missing argument",
        "group",
        2,
        "Missing argument 'names'; see `synsetmine group --help`",
    ),
    _newcomer(
        "an option that does not exist",
        "demo --output demo",
        2,
        "No such option: --output (Possible options: --out); see `synsetmine demo --help`",
    ),
    _newcomer("a typing error in a command", "mien", 2, "No such command 'mien'. …'mine'?"),
    _newcomer(
        "half of the name of a format",
        "export new.jsonl -f elastic -o out.txt",
        2,
        "Invalid value for '--format' / '-f': no such value: 'elastic'; did you mean "
        "'elasticsearch'?",
    ),
    _newcomer(
        "no knowledge base",
        "init --corpus corpus.jsonl --kb mesh.jsonl --out new.toml",
        0,
        "mesh.jsonl: no such file; name the file with --corpus or --kb",
        "new.toml",
    ),
    _newcomer(
        "a project file that exists",
        "init",
        1,
        "synsetmine.toml exists already; --overwrite replaces it",
    ),
    _newcomer(
        "the corpus for the project file",
        "run corpus.jsonl",
        1,
        "corpus.jsonl: not TOML (…); name a project file; `synsetmine init` writes one",
    ),
    _newcomer(
        "a typing error in a section",
        "run section.toml",
        1,
        "section.toml:5: no such section: 'mien'; did you mean 'mine'?",
    ),
    _newcomer(
        "a typing error in a setting",
        "run setting.toml",
        1,
        "setting.toml:5: [mine] no such setting: 'treshold'; did you mean 'threshold'?",
    ),
    _newcomer(
        "a typing error in a path of the project",
        "run kd.toml",
        1,
        "kd.jsonl: no such file or folder; did you mean kb.jsonl?",
    ),
    _newcomer(
        "a stage that does not exist",
        "run --until evalute",
        1,
        "no such stage: 'evalute'; did you mean 'evaluate'?",
    ),
    _newcomer(
        "a corpus that is empty",
        "read empty.jsonl -o out.parquet",
        1,
        "empty.jsonl: no documents; name files with text",
    ),
    _newcomer(
        "a damaged PDF",
        "read paper.pdf -o out.parquet",
        1,
        "paper.pdf: no documents; 1 left out, such as paper.pdf: damaged PDF file: …",
    ),
    _newcomer(
        "a table without the column of texts",
        "read abstracts.csv -o out.parquet",
        1,
        "abstracts.csv: no documents; 1 left out, such as abstracts.csv: a text column is "
        "missing: 'text is not among id, abstract'; name it with --text-field, in a project as "
        "text_field of [corpus]",
    ),
    _newcomer(
        "a corpus in which no entity is named",
        "link documents.parquet knowledge.arrow -o out.tsv --workers 1",
        0,
        "the dictionary linker found no mention of an entity; check that corpus and knowledge "
        "base have the same subject and language",
        "knowledge.matcher",
        "mentions.parquet",
        "out.tsv",
    ),
    _newcomer(
        "a table of entities with other columns",
        "knowledge semicolons.csv -o out.arrow",
        1,
        "semicolons.csv:1: expected a header with the columns 'id' and 'name'; found: 'code, "
        "label'; choose columns with --id-field and --name-field, in a project as id_field and "
        "name_field of [kb]; `synsetmine init` proposes them",
    ),
    _newcomer(
        "too few sets",
        "train three.jsonl -o out",
        0,
        "too few sets: 3, at least 10 needed to adapt the general model; it is used unchanged",
        "out",
        "out/config.json",
        "out/model.safetensors",
    ),
    _newcomer(
        "a run folder that is missing",
        "review run",
        1,
        "run: no such folder; `synsetmine run` writes one",
    ),
    _newcomer(
        "a run folder to export that is missing",
        "export run -f solr -o out.txt",
        1,
        "run: no such folder; `synsetmine run` writes one",
    ),
    _newcomer(
        "the project file for the run folder",
        "report synsetmine.toml",
        1,
        "synsetmine.toml: not a run folder with …; `synsetmine run` writes one, or completes it",
    ),
    _newcomer(
        "a model that is missing",
        "serve modle",
        1,
        "modle: no such folder; name a model of `synsetmine train`, or a run folder where the "
        "command takes one",
    ),
    Case(
        "first steps",
        "a port in use",
        everything,
        ("serve", "model", "-v", "vectors.txt", "--port", str(PORT)),
        1,
        f"port {PORT} of 127.0.0.1 is taken; --port 0 picks a free one",
        during=taken_port,
    ),
    Case(
        "first steps",
        "an extra that is not installed",
        everything,
        ("demo", "-o", "out"),
        1,
        "the demo needs its data: pip install 'synsetmine[demo]'",
        environment={"PYTHONDONTWRITEBYTECODE": "1"},
    ),
)
