"""Makes the data of a how-to in a folder of its own: `python make.py shop`, `clinic` or `news`.

The texts are made up. A document speaks of one thing, by one of its names, and says of it what
the list of that world tells (`shop.txt` and its neighbours). So the names of a thing stand in
alike sentences, as they do in real texts, but here a thousand short documents show it.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCUMENTS = 18  # about each thing, its names in turn
SENTENCES = {
    "shop": (
        "The {name} with {a} and {b}.",
        "New in: the {name} with {a}, {b} and free delivery.",
        "Customers praise the {name} for {a} and {b}.",
        "Our {name} comes with {a}, delivered to your door.",
        "Looking for the {name} with {a}? Here it is, and at a fair price.",
    ),
    "clinic": (
        "We studied {a} and {b} in patients with {name}.",
        "Background: in {name}, little is known about {a}.",
        "Patients with {name} were asked about {a} and {b}.",
        "This review of {name} deals with {a} and {b}.",
        "Methods: we searched the records of a clinic for {name} and {a}.",
    ),
    "news": (
        "The latest {name} report covers {a} and {b}.",
        "On Monday {name} officials spoke of {a}.",
        "Reporters asked {name} staff about {a} and {b}.",
        "Critics of {name} pointed to {a}, others to {b}.",
        "A deal with {name} on {a} is close, sources say.",
    ),
}


@dataclass(frozen=True)
class Thing:
    """What texts speak of: the names that the knowledge base has, those it lacks, its traits."""

    number: int
    known: tuple[str, ...]
    new: tuple[str, ...]
    traits: tuple[str, ...]


def main(world: str) -> None:
    chance = random.Random(0)
    things = read_things(Path(__file__).with_name(f"{world}.txt"))
    texts = [text for thing in things for text in write_texts(thing, SENTENCES[world], chance)]
    chance.shuffle(texts)
    records = ({"id": f"d{n}", "text": text} for n, text in enumerate(texts, start=1))
    known = [thing for thing in things if thing.known]
    kinds = {
        "shop": ("products.jsonl", "synonyms.csv", as_csv(known), "queries.txt"),
        "clinic": ("abstracts.jsonl", "thesaurus.jsonl", as_jsonl(known), "candidates.txt"),
        "news": ("news.jsonl", "graph.ttl", as_skos(known), "candidates.txt"),
    }
    corpus, kb, entities, terms = kinds[world]
    folder = Path(world)
    folder.mkdir(exist_ok=True)
    write_lines(folder / corpus, [json.dumps(record, ensure_ascii=False) for record in records])
    write_lines(folder / kb, entities)
    write_lines(folder / terms, sorted(name for t in things for name in t.known + t.new))


def read_things(path: Path) -> list[Thing]:
    things: list[Thing] = []
    common: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            common = line.strip("[]").split(", ")
        elif line and not line.startswith("#"):
            names, traits = (part.split(", ") for part in line.split("; "))
            known = tuple(name for name in names if not name.startswith("+"))
            new = tuple(name[1:] for name in names if name.startswith("+"))
            things.append(Thing(len(things) + 1, known, new, (*traits, *common)))
    return things


def write_texts(thing: Thing, sentences: Sequence[str], chance: random.Random) -> Iterator[str]:
    names = thing.known + thing.new
    for i in range(DOCUMENTS):
        drawn = []
        for sentence in chance.sample(sentences, 2):
            a, b = chance.sample(thing.traits, 2)
            drawn.append(sentence.format(name=names[i % len(names)], a=a, b=b))
        yield " ".join(drawn)


def as_csv(things: Sequence[Thing]) -> list[str]:
    rows = [f"P{t.number:02},{t.known[0]},{'|'.join(t.known[1:])}" for t in things]
    return ["id,name,synonyms", *rows]


def as_jsonl(things: Sequence[Thing]) -> list[str]:
    return [
        json.dumps({"id": f"D{t.number:03}", "name": t.known[0], "synonyms": t.known[1:]})
        for t in things
    ]


def as_skos(things: Sequence[Thing]) -> list[str]:
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    lines += ["@prefix org: <https://graph.example/org/> ."]
    for thing in things:
        lines += ["", f"org:{thing.number:03} a skos:Concept ;"]
        lines += [f'    skos:altLabel "{name}"@en ;' for name in thing.known[1:]]
        lines += [f'    skos:prefLabel "{thing.known[0]}"@en .']
    return lines


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{path} written: {len(lines):,} lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
