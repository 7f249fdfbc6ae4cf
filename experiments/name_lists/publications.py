"""Names of journals, law reports and courts, with their abbreviations."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.name_lists.base import (
    NameList,
    Names,
    entities_of,
    package_file,
    read_json,
    system_file,
)

# JabRef's dependencies are large; only the list in its archive is needed.
JABREF = "apt-get download jabref && dpkg -x jabref_*.deb /"

_STATE = re.compile(r" \((?:[A-Z]{2}|West|LexisNexis|Thomson)\)")


def parse_journals(lines: Iterable[str]) -> list[Names]:
    """Journals of JabRef's list: `Full title = Abbr. Title`, perhaps `; Shorter`, a line."""
    return entities_of(
        part.partition(";")[0].strip().split(" = ")
        for part in lines
        if " = " in part and not part.startswith("#")
    )


def parse_reports(publications: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Names]:
    """Law reports and journals by abbreviation, where it stands for one series only."""

    def names(short: str, publication: Mapping[str, Any]) -> Iterator[str]:
        yield _STATE.sub("", publication["name"])
        yield short
        yield from publication["variations"]

    return entities_of(
        names(short, meanings[0])
        for short, meanings in publications.items()
        if len(meanings) == 1 and len(meanings[0].get("editions", [short])) == 1
    )


def parse_courts(courts: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Courts with the abbreviations used in citations."""
    return entities_of(
        [court["name"], court.get("citation_string"), court.get("name_abbreviation")]
        for court in courts
    )


def _load_journals() -> list[Names]:
    folder = system_file("/usr/share/jabref", install=JABREF)
    archive: Path = max(folder.glob("JabRef-*.jar"))
    with zipfile.ZipFile(archive) as jar:
        return parse_journals(jar.read("journals/journalList.txt").decode().splitlines())


def _load_reports() -> list[Names]:
    files = ("reporters", "journals", "laws")
    return [
        names
        for file in files
        for names in parse_reports(
            read_json(package_file("reporters-db", f"reporters_db/data/{file}.json"))
        )
    ]


def _load_courts() -> list[Names]:
    return parse_courts(read_json(package_file("courts-db", "courts_db/data/courts.json")))


LISTS = (
    NameList(
        name="journals",
        title="Journals and their abbreviations in JabRef",
        install=JABREF,
        licence="MIT",
        attribution="JabRef authors",
        load=_load_journals,
    ),
    NameList(
        name="law-reports",
        title="Law reports, law journals and codes of the Free Law Project",
        install="pip install --no-deps reporters-db",
        licence="BSD-2-Clause",
        attribution="Free Law Project, reporters-db",
        load=_load_reports,
    ),
    NameList(
        name="courts",
        title="Courts of the Free Law Project",
        install="pip install --no-deps courts-db",
        licence="BSD-2-Clause",
        attribution="Free Law Project, courts-db",
        load=_load_courts,
    ),
)
