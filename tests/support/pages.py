"""A reader of a report's page, and of the sets that its script finds there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from synsetmine.pipeline.report.findings import Findings
from synsetmine.pipeline.report.page import write_report
from synsetmine.runs import MinedSet, MinedTerm, Sentence


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


class Page(HTMLParser):
    """The elements of a page in their order, each with the text directly in it."""

    VOID = frozenset({"meta", "input", "br", "link", "img", "rect"})

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(source)
        self.close()
        assert not self._open, self._open

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls(path.read_bytes().decode())

    @classmethod
    def of(cls, folder: Path, findings: Findings) -> Page:
        write_report(folder / "report.html", findings)
        return cls.read(folder / "report.html")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute stands twice in {tag}"
        self.elements.append(element)
        if tag not in {"meta", "input"}:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def with_id(self, name: str) -> Element:
        (found,) = [e for e in self.elements if e.attributes.get("id") == name]
        return found

    def json(self, name: str) -> Any:
        return json.loads(self.with_id(name).text)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(e.tag, tuple(sorted(e.attributes))) for e in self.elements]

    @property
    def text(self) -> str:
        return " ".join(self.all("body")[0].text.split())


def read_back(page: Page) -> list[MinedSet]:
    """The sets as a script reads them from the page."""
    data = page.json("data")
    sets = []
    for number, record in enumerate(data["sets"]):
        block, place = divmod(number, data["block"])
        sentences = page.json(f"sentences-{block}")[place]
        terms = tuple(
            MinedTerm(
                text=term["text"],
                count=term["count"],
                action=term["action"],
                known=term.get("known", False),
                probability=term.get("probability"),
                sense=term.get("sense", ""),
                sentences=tuple(
                    Sentence(document, f"{a}{b}{c}", len(a), len(a) + len(b), *relation[:1])
                    for document, a, b, c, *relation in found
                ),
            )
            for term, found in zip(record["terms"], sentences, strict=True)
        )
        sets.append(MinedSet(record["id"], terms, record.get("entity")))
    return sets
