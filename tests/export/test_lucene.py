"""A real Lucene reads what we write, and any file as our reader does."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.export import About, read_rules
from synsetmine.export.solr import lint_file, write_elasticsearch, write_solr
from synsetmine.runs import MinedSet
from tests.support.searchentries import SIGNS, entry, surfaces, writable

PROGRAMS = Path(__file__).parents[1] / "support"
JARS = Path("/usr/share/java")  # of Debian's liblucene8-java

Mapping = tuple[str, str, bool]  # input, output, whether the input stays


@pytest.fixture(scope="module")
def classpath() -> str:
    names = ("lucene-core-8.*.jar", "lucene-analyzers-common-8.*.jar")
    jars = [path for name in names for path in JARS.glob(name)]
    if shutil.which("javac") is None or len(jars) < len(names):
        pytest.skip("a JDK and Lucene's jars are not at hand (apt-get install liblucene8-java)")
    return ":".join(map(str, jars))


def java(program: str, *arguments: str, classpath: str, given: str = "") -> list[str]:
    """The lines that a program prints; compiled each time, which takes a second."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, str(PROGRAMS / program)]
    done = subprocess.run(
        [*command, *arguments], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def read_by_lucene(texts: Sequence[str], classpath: str) -> list[list[Mapping] | None]:
    """What Lucene reads in each of the files; None for one that it refuses."""
    given = "\n".join(text.encode().hex() for text in texts)
    answers: list[list[Mapping] | None] = []
    mappings: list[Mapping] = []
    for line in java("LuceneRules.java", classpath=classpath, given=given):
        if line in ("done", "refused"):
            answers.append(mappings if line == "done" else None)
            mappings = []
        else:
            term, other, stays = line.split(" ")
            mappings.append((_text(term), _text(other), stays == "true"))
    assert len(answers) == len(texts)
    return answers


def _text(hexed: str) -> str:
    return bytes.fromhex(hexed).decode()


def read_by_us(text: str, path: Path) -> list[Mapping] | None:
    path.write_bytes(text.encode())
    mappings: list[Mapping] = []
    try:
        for rule in read_rules(path):
            if rule.outputs is None:
                mappings += [(one, other, True) for one, other in permutations(rule.inputs, 2)]
            else:
                mappings += [(*pair, False) for pair in product(rule.inputs, rule.outputs)]
    except DataError:
        return None
    return mappings


def test_lucene_reads_what_we_write_and_any_text_as_we_do(classpath: str, tmp_path: Path) -> None:
    """One process for all of it, since a JVM takes long to start."""
    random_ = random.Random(0)
    sets = writable("solr", [_random_set(random_) for _ in range(2000)])
    assert len(sets) > 1000
    written = [
        write_solr(tmp_path / "equal.txt", sets, About(), limit=0)[0].read_bytes().decode(),
        write_solr(tmp_path / "explicit.txt", sets, About(), explicit=True, limit=0)[0]
        .read_bytes()
        .decode(),
        _elasticsearch_lines(sets, tmp_path),
    ]
    texts = ["".join(_random_line(random_) for _ in range(3)) for _ in range(2000)]
    equal, explicit, api, *others = read_by_lucene([*written, *texts], classpath)

    pairs = [(*pair, True) for one in sets for pair in permutations(surfaces(one), 2)]
    assert equal == pairs
    assert api == pairs
    assert explicit == [(o, first, False) for first, *rest in map(surfaces, sets) for o in rest]

    path = tmp_path / "any.txt"
    assert [read_by_us(text, path) for text in texts] == others
    assert 200 < sum(answer is None for answer in others) < 1800
    refused = next(text for text, answer in zip(texts, others, strict=True) if answer is None)
    path.write_bytes(refused.encode())
    assert lint_file(path).count("error")


def _random_set(random_: random.Random) -> MinedSet:
    texts = ("".join(random_.choices(SIGNS, k=random_.randint(1, 4))) for _ in range(4))
    return entry("c", *texts)


def _random_line(random_: random.Random) -> str:
    signs = (*SIGNS, ",", ",", "=>", "=>", "\\", "\\", "#", " ")
    # Lucene has NUL between words, so that a term with one is no term to it.
    text = "".join(random_.choices(signs, k=random_.randint(0, 6))).replace("\0", "0")
    return f"{text}\n"


def _elasticsearch_lines(sets: Sequence[MinedSet], folder: Path) -> str:
    """The rules as Elasticsearch hands them to Lucene: one a line."""
    (path,) = write_elasticsearch(folder / "api.json", sets, About(), limit=0)
    rules = json.loads(path.read_text("utf-8"))["synonyms_set"]
    return "\n".join(rule["synonyms"] for rule in rules)


TEXTS = ("Acute myocardial infarction", "A heart attack.", "An attack to the heart", "MI in men")


def test_a_search_finds_texts_with_other_terms_of_the_set(classpath: str, tmp_path: Path) -> None:
    hearts = entry("c", "heart attack", "myocardial infarction", "MI")
    (path,) = write_solr(tmp_path / "synonyms.txt", [hearts], About())
    queries = ("mi", "Heart Attack", "acute MI", "men", "infarction")
    found = search(path, TEXTS, queries, classpath)
    assert found == [{0, 1, 3}, {0, 1, 3}, {0}, {3}, {0}]


def test_a_term_without_words_makes_lucene_refuse_the_file(classpath: str, tmp_path: Path) -> None:
    (path,) = write_solr(tmp_path / "synonyms.txt", [entry("c", "plus", "+")], About())
    assert search(path, TEXTS, ["plus"], classpath) is None
    assert [finding.check for finding in lint_file(path).findings] == ["no-word"]


def search(
    synonyms: Path, texts: Sequence[str], queries: Sequence[str], classpath: str
) -> list[set[int]] | None:
    """Which texts each query finds; None if Lucene refuses the synonyms."""
    for name, lines in {"texts": texts, "queries": queries}.items():
        synonyms.with_name(name).write_text("\n".join(lines), "utf-8")
    files = [str(path) for path in (synonyms, *map(synonyms.with_name, ("texts", "queries")))]
    answers = java("LuceneSearch.java", *files, classpath=classpath)
    if answers == ["refused"]:
        return None
    return [set(map(int, answer.split())) for answer in answers]
