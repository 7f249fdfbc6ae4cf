"""Knowledge bases from dumps of Wikidata."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from synsetmine.kb import read_kb
from tests.support.kbfiles import DUMP, ITEMS, check_broken, content_of, item, store


def test_a_dump_of_wikidata_is_read(tmp_path: Path) -> None:
    line_end = ",\n"
    for name, content in (
        ("dump.json", DUMP.encode()),
        ("dump.json.gz", gzip.compress(DUMP.encode())),
        ("dump.json.bz2", bz2.compress(DUMP.encode())),
        ("lines.jsonl", "\n".join(ITEMS).encode()),
        ("tight.json", f"[{line_end.join(ITEMS)}]".encode()),
    ):
        kb = read_kb(store(tmp_path, content, name))
        assert content_of(kb) == {
            "Q31": (
                "Belgium", "Belgio", "Belgium (GB)", "Kingdom of Belgium", "BEL 🇧🇪", "be",
            ),
            "Q8": ("happiness",),
            "Q10": ("late",),
        }  # fmt: skip
        assert dict(kb.retired_ids()) == {"Q12": "Q31", "Q13": "Q31"}
    assert read_kb(tmp_path / "dump.json", language="fr").names("Q31") == ("Belgio", "Royaume")
    assert read_kb(tmp_path / "dump.json", language="*").name("Q9") == "rien"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense,", "expected one JSON object per line: 'nonsense'"),
        (ITEMS[0][:300], "expected one JSON object per line: "),
        (ITEMS[0][:300] + "}", "not JSON: "),
        ('{"type": "item" "id": "Q2"}', "not JSON: "),
        ('{"type": "item", 7: "Q2"}', "not JSON: "),
        ('{"type": "item",}', "not JSON: "),
        ('{"a":' * 100_000 + "}", "not JSON: "),
        ('{"type": "item", "labels": {}}', "expected an item with its id: "),
        ('{"id": "Q2"}', "expected an item with its id: "),
        ('{"type": "item", "id": "Q2", "labels": ["x"]}', "expected an object with languages as "),
        ('{"type": "item", "id": "Q2", "labels": {"en": "x"}}', "expected a value in a language: "),
        ('{"type": "item", "id": "Q2", "aliases": {"en": [7]}}', "expected a value in a language"),
    ],
    ids=lambda text: text[:30],
)
def test_broken_lines_of_a_dump_are_reported(tmp_path: Path, line: str, problem: str) -> None:
    good = item("Q1", {"en": "universe"}, {})
    path = store(tmp_path, f"[\n{good},\n{line}\n{good.replace('Q1', 'Q3')}\n]", "x.json")
    check_broken(path, 3, problem, {"Q1": ("universe",), "Q3": ("universe",)}, "wikidata")
