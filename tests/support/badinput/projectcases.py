"""Bad project files and models."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import DEEP, OVER, Make, files, nothing, repeat

PROJECT = '[corpus]\npath = "c.txt"\n[kb]\npath = "k.jsonl"\n'
CONFIG: Mapping[str, object] = {
    "format": "synsetmine-model",
    "version": 1,
    "scorer": {},
    "threshold": 0.5,
    "training": {},
    "sha256": {"model.safetensors": "0"},
}


def _project(content: str | bytes | Make, what: str, says: str) -> Case:
    make = content if callable(content) else files({"synsetmine.toml": content})
    return Case("project file", what, make, ("run",), 1, says)


def _model(config: str | Make, what: str, says: str) -> Case:
    given = {"v.txt": "a 1 2\nb 3 4\n"}
    make = files(given | {"m/config.json": config}) if isinstance(config, str) else config
    command = ("mine", "m", "-v", "v.txt", "-o", "mined.jsonl")
    return Case("model", what, make, command, 1, says)


PROJECT_CASES = (
    _project(
        nothing, "a missing file", "synsetmine.toml: no such file; `synsetmine init` writes one"
    ),
    _project(
        files({"synsetmine.toml/x": ""}),
        "a folder for a file",
        "synsetmine.toml/synsetmine.toml: no such file; `synsetmine init` writes one",
    ),
    _project(
        "", "an empty file", "synsetmine.toml: the section [corpus] is missing or has no path"
    ),
    _project(
        "[corpus\n",
        "not TOML",
        "synsetmine.toml: not TOML (Expected ']' at the end of a table declaration (at li…",
    ),
    _project(
        PROJECT.encode("utf-16"),
        "UTF-16",
        "synsetmine.toml:1: not UTF-8: b…",
    ),
    _project(
        b'run = "Z\xfcr"\n', "Latin-1", "synsetmine.toml:1: not UTF-8: b'run = \"Z\\xfcr\"\\n'; …"
    ),
    _project(
        f"run = {'[' * DEEP}",
        "TOML nested 100,000 deep",
        "synsetmine.toml: not TOML: 'run = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…",
    ),
    _project(
        files({"synsetmine.toml": repeat("# \n", OVER)}),
        "a file of 65 MiB",
        "synsetmine.toml: the file is longer than 64 MiB: b'# \\n# \\n# \\n# \\n# \\n# \\n# \\n#…",
    ),
    _project(
        f"{PROJECT}[mine]\nseed = {'9' * 5000}\n",
        "a number of 5,000 digits",
        'synsetmine.toml: not TOML: \'[corpus]\\npath = "c.txt"\\n[kb]\\npath = "k.jsonl"\\n[m…',
    ),
    _project(
        f"{PROJECT}[mines]\nseed = 1\n",
        "an unknown section",
        "synsetmine.toml:5: no such section: 'mines'; did you mean 'mine'?",
    ),
    _project(
        f"{PROJECT}[mine]\nsed = 1\n",
        "an unknown setting",
        "synsetmine.toml:5: [mine] no such setting: 'sed'; did you mean 'seed'?",
    ),
    _project(
        f'{PROJECT}[mine]\nseed = "one"\n',
        "a string for a number",
        "synsetmine.toml:5: [mine] seed must be a whole number: 'one'",
    ),
    _project(
        f"{PROJECT}[mine]\nseed = 2020-01-01\n",
        "a date for a number",
        "synsetmine.toml:5: [mine] seed must be a whole number: datetime.date(2020, 1, 1)",
    ),
    _project(
        f"{PROJECT}[mine]\nthreshold = nan\n",
        "NaN",
        "synsetmine.toml:5: [mine] threshold must be between 0 and 1: nan",
    ),
    _project(
        "mine = 1\n",
        "a number for a section",
        "synsetmine.toml:1: [mine] expected a section with settings: 1",
    ),
    _project(
        '[corpus]\npath = "c.txt"\n',
        "no knowledge base",
        "synsetmine.toml: the section [kb] is missing or has no path",
    ),
    _project(
        PROJECT.replace('"c.txt"', "[]"),
        "an empty list of files",
        "synsetmine.toml:1: [corpus] path must be a string or a list of strings: []",
    ),
    _project(
        files({"synsetmine.toml": "\ufeff" + PROJECT.replace("\n", "\r\n")}),
        "a byte order mark, and CRLF: it is read",
        "c.txt: no such file or folder; …",
    ),
)
MODEL_CASES = (
    _model(nothing, "a missing folder", "m: no such folder; name a model of …"),
    _model(
        files({"m": "x", "v.txt": "a 1 2\n"}),
        "a file for a folder",
        "m: not a folder; name a model of …",
    ),
    _model(
        files({"m/x": "", "v.txt": "a 1 2\n"}),
        "a folder without a model",
        "m contains no finished model: config.json is missing; if training was interrup…",
    ),
    _model(
        "{",
        "a config that is not JSON",
        "m/config.json cannot be read (not JSON (Expecting property name enclosed in doub…",
    ),
    _model("[" * DEEP, "a config nested 100,000 deep", "m/config.json cannot be read (not JSON)"),
    _model(
        json.dumps({**CONFIG, "version": 99}),
        "a model of another version",
        "m/config.json has version 99; this synsetmine reads 1",
    ),
    _model(
        json.dumps({**CONFIG, "threshold": "half"}),
        "a string for the threshold",
        "m/config.json is damaged: 'threshold' is missing or has the wrong type ('half')",
    ),
    _model(json.dumps(CONFIG), "a model without its weights", "m: 'model.safetensors' is missing"),
    _model(
        files({"m/config.json": json.dumps(CONFIG), "m/model.safetensors": "x", "v.txt": "a 1\n"}),
        "damaged weights",
        "m/model.safetensors is damaged: its checksum differs from config.json",
    ),
)
