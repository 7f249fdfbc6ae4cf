"""Name lists: hashing and leaving out, and the parsing of each family of sources."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.name_lists import (
    NAME_LISTS,
    ListCounts,
    MissingDataError,
    NameList,
    held_out,
    name_hash,
    read_heldout,
    without_heldout,
    write_name_lists,
)
from experiments.name_lists.base import clean, entities_of, is_latin, node_file, package_file
from experiments.name_lists.biomedicine import (
    EXACT,
    parse_edam,
    parse_enzymes,
    parse_families,
    parse_genes,
    parse_mesh,
    parse_taxa,
    parse_terms,
)
from experiments.name_lists.chemistry import is_name, parse_compounds
from experiments.name_lists.forms import is_acronym, same_words, singular
from experiments.name_lists.organisations import (
    is_organisation_form,
    parse_basketball,
    parse_brands,
    parse_football,
    parse_icons,
    parse_parties,
)
from experiments.name_lists.people import parse_legislators, parse_nicknames
from experiments.name_lists.places import (
    CITY_NAMES,
    parse_cities,
    parse_countries,
    parse_currencies,
    parse_languages,
)
from experiments.name_lists.publications import parse_courts, parse_journals, parse_reports
from experiments.name_lists.technology import (
    parse_foldoc,
    parse_programming,
    parse_units,
    parse_vera,
    read_dictionary,
)
from experiments.name_lists.wikipedia import is_form, load_dump
from experiments.name_lists.wordnet import Kind, parse_index, parse_nouns

ENTITIES = [("Heart attack", "MI"), ("U.S.", "United States"), ("Zürich",)]


def _list(name: str, entities: list[tuple[str, ...]]) -> NameList:
    return NameList(
        name=name,
        title=name,
        install="pip install nothing",
        licence="CC0-1.0",
        attribution="nobody",
        load=lambda: entities,
    )


class TestHeldOut:
    def test_hash_is_of_letters_and_digits_only(self) -> None:
        expected = hashlib.sha256(b"usa2").hexdigest()[:16]
        assert name_hash("U.S.A. 2") == expected
        assert name_hash("ｕｓａ２") == expected  # NFKC makes these ASCII

    def test_hash_is_casefolded(self) -> None:
        assert name_hash("STRASSE") == name_hash("Straße")

    def test_an_entity_with_one_held_out_name_is_left_out(self) -> None:
        hashes = frozenset((name_hash("u s"), name_hash("unknown")))
        assert held_out(("United States", "U.S."), hashes)
        assert not held_out(("Heart attack", "MI"), hashes)
        assert without_heldout(ENTITIES, hashes) == [ENTITIES[0], ENTITIES[2]]

    def test_file(self, tmp_path: Path) -> None:
        path = tmp_path / "heldout.txt"
        path.write_text(f"{name_hash('a')}\n{name_hash('b')}\n")
        assert read_heldout(path) == {name_hash("a"), name_hash("b")}

    def test_a_broken_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "heldout.txt"
        path.write_text(f"{name_hash('a')}\nHeart attack\n")
        with pytest.raises(ValueError, match=r"entry 2: expected 16 hex digits; got 'Heart'"):
            read_heldout(path)


class TestWriting:
    def test_files_and_counts(self, tmp_path: Path) -> None:
        heldout = tmp_path / "heldout.txt"
        heldout.write_text(name_hash("zurich") + "\n" + name_hash("mi") + "\n")
        (counts,) = write_name_lists(tmp_path / "out", heldout, lists=[_list("demo", ENTITIES)])
        assert counts == ListCounts("demo", entities=2, synonym_sets=1, names=3, left_out=1)
        with gzip.open(tmp_path / "out" / "demo.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        assert records == [{"names": ["U.S.", "United States"]}, {"names": ["Zürich"]}]

    def test_counts_of_earlier_lists_stay(self, tmp_path: Path) -> None:
        write_name_lists(tmp_path, lists=[_list("first", ENTITIES)])
        write_name_lists(tmp_path, lists=[_list("second", ENTITIES[:1])])
        counts = json.loads((tmp_path / "counts.json").read_text())
        assert counts["first"]["entities"] == 3
        assert counts["second"]["entities"] == 1

    def test_equal_lists_are_equal_files(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            write_name_lists(tmp_path / folder, lists=[_list("demo", ENTITIES)])
        first, second = (tmp_path / folder / "demo.jsonl.gz" for folder in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


class TestBase:
    def test_clean(self) -> None:
        names = [" Heart\u00a0 attack", "HEART ATTACK", "", None, "—", "https://a.b/c", "E\u0301va"]
        assert clean(names) == ("Heart attack", "Éva")

    def test_repeated_and_empty_entities_are_left_out(self) -> None:
        assert entities_of([["a", "b"], [], ["a", "b"], ["b"]]) == [("a", "b"), ("b",)]

    def test_latin(self) -> None:
        assert is_latin("Saint-Étienne 2")
        assert not is_latin("Киев")

    def test_missing_packages_are_named_with_a_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("NODE_PATH", raising=False)
        with pytest.raises(MissingDataError, match="pip install --no-deps no-such-package"):
            package_file("no-such-package", "data.json")
        with pytest.raises(MissingDataError, match="npm install --ignore-scripts no-such"):
            node_file("no-such", "data.json")

    def test_npm_packages_are_found_in_node_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "brands").mkdir()
        (tmp_path / "brands" / "data.json").write_text("{}")
        monkeypatch.setenv("NODE_PATH", str(tmp_path))
        assert node_file("brands", "data.json") == tmp_path / "brands" / "data.json"

    def test_lists_have_distinct_names(self) -> None:
        names = [name_list.name for name_list in NAME_LISTS]
        assert len(names) >= 10
        assert len(names) == len(set(names))


class TestForms:
    @pytest.mark.parametrize(
        ("word", "expected"), [("cities", "city"), ("boxes", "box"), ("Paris", "Paris")]
    )
    def test_singular(self, word: str, expected: str) -> None:
        assert singular(word) == expected

    def test_same_words(self) -> None:
        assert same_words("Freedman, David A.", "David A. Freedman")
        assert same_words("air conditioners", "Air conditioner")
        assert not same_words("air", "Air conditioner")

    def test_acronyms(self) -> None:
        assert is_acronym("DoD", "Department of Defense")
        assert is_acronym("FBI", "Federal Bureau of Investigation")
        assert not is_acronym("CIA", "Federal Bureau of Investigation")


class TestWordNet:
    NOUNS = (
        "  1 This software and database is being provided to you\n",
        "00001740 03 n 03 abstraction 0 abstract_entity 0 Zurich 0 001 @ 00001930 n 0000 | a\n",
        "00001800 03 n 02 benzofuran 0 coumarone 0 001 @ 00001930 n 0000 | a compound\n",
        "00002000 15 n 03 Zurich 0 Zürich 0 Lake_City 1 002 @i 00001740 n 0000"
        " #p 00001740 n 0000 | a city\n",
    )
    INDEX = (
        "  1 This software and database is being provided to you\n",
        "abstract_entity n 1 1 @ 1 0 00001740  \n",
        "abstraction n 2 3 @ ~ #p 2 1 00001740 00001800  \n",
        "benzofuran n 1 1 @ 1 0 00001800  \n",
        "coumarone n 1 1 @ 1 0 00001800  \n",
        "lake_city n 1 1 @i 1 0 00002000  \n",
        "zurich n 2 1 @i 2 1 00002000 00001740  \n",
        "zürich n 1 1 @i 1 0 00002000  \n",
    )

    @pytest.mark.parametrize(
        ("kind", "names"),
        [
            ("frequent", ("abstraction", "abstract entity")),  # "Zurich" has another first sense
            ("rare", ("benzofuran", "coumarone")),
            ("instance", ("Zurich", "Zürich", "Lake City")),
        ],
    )
    def test_names_by_their_first_sense(self, kind: Kind, names: tuple[str, ...]) -> None:
        assert parse_nouns(self.NOUNS, parse_index(self.INDEX), kind=kind) == [names]


class TestBiomedicine:
    def test_mesh(self) -> None:
        lines = [
            "D000002\tTemefos\tTemephos|Difos, Abate\tD02.705\t\n",
            "D000003\tAbattoirs\t\tJ01\t\n",
        ]
        assert parse_mesh(lines) == [("Temefos", "Temephos", "Difos, Abate"), ("Abattoirs",)]

    def test_terms_of_this_ontology_that_are_not_obsolete(self) -> None:
        terms: dict[str, dict[str, Any]] = {
            "CL:1": {
                "label": "eosinophil (disease)",
                "synonyms": ["eosinocyte", "5227 Astro NN_3"],
            },
            "CL:2": {"label": "obsolete cell", "synonyms": ["old cell"]},
            "CL:3": {"label": "gone", "deprecated": True},
            "GO:1": {"label": "other ontology"},
        }
        assert parse_terms(terms, ("CL:",)) == [("eosinophil", "eosinocyte")]

    def test_taxa_with_common_names(self) -> None:
        terms: dict[str, dict[str, Any]] = {
            "NCBITaxon:1": {"label": "Pavo", "synonyms": ["peafowls", "Pavo sp. 1"]},
            "NCBITaxon:2": {"label": "Canidae", "synonyms": ["dog, coyote, wolf, fox"]},
            "NCBITaxon:3": {"label": "Mus"},
        }
        assert parse_taxa(terms) == [("Pavo", "peafowls")]

    def test_genes(self) -> None:
        header = "Approved symbol\tApproved name\tStatus\tAlias symbols\tLocus type\n"
        coding = "gene with protein product"
        lines = [
            header,
            f"KRT13\tkeratin 13\tApproved\tK13, FLJ3781, CK13\t{coding}\n",
            f"OLD\told gene\tWithdrawn\t\t{coding}\n",
            "A1\tantisense\tApproved\t\tRNA, long non-coding\n",
        ]
        assert parse_genes(lines) == [("KRT13", "keratin 13", "K13", "CK13")]

    def test_enzymes(self) -> None:
        entries: list[dict[str, Any]] = [
            {"id": "1.1", "name": "Acting on CH-OH"},
            {
                "id": "1.1.1.1",
                "name": "Alcohol dehydrogenase.",
                "synonyms": ["Aldehyde reductase.", "(NAD)."],
            },
            {"id": "1.1.1.5", "name": "Transferred entry: 1.1.1.303"},
        ]
        assert parse_enzymes(entries) == [("Alcohol dehydrogenase", "Aldehyde reductase")]

    def test_families(self) -> None:
        lines = [
            "IkappaB kinase,FPLX,IKK,,\n",
            "IKK,FPLX,IKK,,\n",
            "IKK1 and IKK2,FPLX,IKK,,\n",
            "p53,HGNC,TP53,,\n",
        ]
        assert parse_families(lines) == [("IkappaB kinase", "IKK")]

    def test_edam(self) -> None:
        lines = [
            f"Preferred Label\tSynonyms\tObsolete\t{EXACT}\n",
            "Sequencing\tDNA-Seq|Reads\tFALSE\tDNA-Seq\n",
            "Resource type\t\tTRUE\t\n",
        ]
        assert parse_edam(lines) == [("Sequencing", "DNA-Seq")]


class TestPlaces:
    def test_cities(self) -> None:
        city = {
            "name": "Munich",
            "alternatenames": ["München", "MUC", "mywnykh", "Мюнхен", "City of Munich", "Monaco"],
        }
        assert parse_cities([city]) == [("Munich", "City of Munich", "Monaco", "München")]

    def test_a_city_has_few_names(self) -> None:
        city = {"name": "Aa", "alternatenames": ["B" + letter for letter in "abcdefghijklmn"]}
        assert len(parse_cities([city])[0]) == CITY_NAMES

    def test_countries(self) -> None:
        iso = [
            {"alpha_2": "KR", "name": "Korea, Republic of", "common_name": "South Korea"},
            {"alpha_2": "MM", "name": "Myanmar"},
        ]
        cldr = {"MM": "Myanmar (Burma)"}
        spellings = {"KR": ["KR", "대한민국", "ROK", "Republic of Korea"]}
        assert parse_countries(iso, cldr, spellings) == [
            ("Korea, Republic of", "Republic of Korea", "South Korea"),
            ("Myanmar", "Burma"),
        ]

    def test_languages(self) -> None:
        iso = [
            {"alpha_2": "es", "alpha_3": "spa", "name": "Spanish", "type": "L"},
            {"alpha_3": "zxx", "name": "No linguistic content", "type": "S"},
        ]
        registry = (
            "File-Date: 2026-01-01\n%%\nType: language\nSubtag: es\nDescription: Spanish\n"
            "Description: Castilian\n%%\nType: region\nSubtag: ES\nDescription: Spain\n"
        )
        assert parse_languages(iso, {"es": "Spanish"}, registry) == [("Spanish", "Castilian")]

    def test_currencies(self) -> None:
        iso = [{"alpha_3": "ISK", "name": "Iceland Krona"}, {"alpha_3": "XAU", "name": "Gold"}]
        assert parse_currencies(iso, {"ISK": "Icelandic Króna"}) == [
            ("Iceland Krona", "Icelandic Króna", "ISK")
        ]


class TestWikipedia:
    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("neurons", "Neuron"),
            ("Freedman, David", "David Freedman"),
            ("CGT", "Confédération générale du travail"),
            ("Huntsville", "Huntsville, Alabama"),
            ("Dari", "Dari language"),
            ("Laplace", "Pierre Laplace"),
        ],
    )
    def test_forms_of_a_title(self, name: str, title: str) -> None:
        assert is_form(name, title)

    @pytest.mark.parametrize(
        ("name", "title"),
        [
            ("Cretan", "Crete"),
            ("medicine", "History of medicine"),
            ("motion", "Brownian motion"),
            ("", "Crete"),
        ],
    )
    def test_other_things(self, name: str, title: str) -> None:
        assert not is_form(name, title)

    def test_dump(self, tmp_path: Path) -> None:
        pages = [
            ("Petroleum industry", None, "The [[frog]]s of the [[Crete|Cretan]] oil."),
            ("Oil business", "Petroleum industry", ""),
            ("PetroleumBusiness", "Petroleum industry", ""),
            ("Frog", None, "[[Petroleum industry|oil trade]], [[Petroleum industry|oil trade]]"),
        ]
        path = tmp_path / "dump.xml.bz2"
        path.write_bytes(bz2.compress(_dump(pages).encode()))
        assert sorted(load_dump(path)) == [
            ("Crete",),
            ("Frog", "frogs"),
            ("Petroleum industry", "Oil business", "oil trade"),
        ]


def _dump(pages: list[tuple[str, str | None, str]]) -> str:
    parts = []
    for number, (title, target, text) in enumerate(pages, start=1):
        redirect = f'<redirect title="{target}" />' if target else ""
        body = f"#REDIRECT [[{target}]]" if target else text
        parts.append(
            f"<page><title>{title}</title><ns>0</ns><id>{number}</id>{redirect}"
            f"<revision><id>{number}</id><text>{body}</text></revision></page>"
        )
    space = "http://www.mediawiki.org/xml/export-0.10/"
    return f'<mediawiki xmlns="{space}" version="0.10" xml:lang="en">{"".join(parts)}</mediawiki>'


class TestChemistry:
    def test_codes_are_no_names(self) -> None:
        codes = ["50-78-2", "einecs 200-064-1", "nsc 27223", "c9h8o4", "ac1o5cjk", "m951"]
        remarks = ["aspirina [polish]", "aspirin (8ci)", "aspirin; acetyl", "x" * 61]
        assert not any(map(is_name, codes + remarks))
        assert is_name("2-acetoxybenzoic acid")

    def test_compounds(self) -> None:
        aspirin = ["1", "50-78-2", "C9H8O4", "180", "CC", "InChI", "KEY"]
        names = ["2-acetyloxybenzoic acid", "aspirin", "50-78-2", "Aspirin", "ecotrin"]
        lines = [
            "\t".join([*aspirin, *names]) + "\n",
            "\t".join([*aspirin, "2,3-dimethyldodecane"]) + "\n",
        ]
        assert parse_compounds(lines) == [("aspirin", "ecotrin", "2-acetyloxybenzoic acid")]


class TestOrganisations:
    def test_brands(self) -> None:
        index: dict[str, dict[str, Any]] = {
            "operators/power/plant": {
                "items": [
                    {
                        "tags": {"operator": "RWE", "operator:wikidata": "Q1"},
                        "matchNames": ["rwe ag", "innogy"],
                    },
                    {
                        "tags": {
                            "operator": "Scottish Courts Service",
                            "operator:short": "SCS",
                            "operator:wikidata": "Q2",
                        },
                    },
                    {"tags": {"operator": "nobody"}},
                ]
            },
            "brands/shop/shoes": {
                "items": [
                    {"tags": {"brand": "プーマ", "brand:wikidata": "Q3"}},
                    {"tags": {"brand": "My Market", "brand:wikidata": "Q4"}},
                ]
            },
        }
        labels = {"Q3": {"label": "Puma"}, "Q4": {"label": "Metro"}}
        assert parse_brands(index, labels) == [
            ("RWE", "rwe ag"),
            ("Scottish Courts Service", "SCS"),
            ("Puma",),
            ("My Market",),
        ]

    def test_forms(self) -> None:
        assert is_organisation_form("oilibiya", "Oilibya")
        assert is_organisation_form("The Gap Inc.", "Gap")
        assert not is_organisation_form("united parcel service", "The UPS Store")

    def test_icons(self) -> None:
        icons: list[dict[str, Any]] = [
            {"title": "FCC", "aliases": {"aka": ["Federal Communications Commission"]}},
            {"title": "Kotlin", "aliases": {"loc": {"ko-KR": "코틀린"}}},
        ]
        assert parse_icons(icons) == [("FCC", "Federal Communications Commission"), ("Kotlin",)]

    def test_parties(self) -> None:
        parties: list[dict[str, Any]] = [
            {"name": "Hindu Mahasabha", "abbr": "HM", "variations": {"abbr": ["HMS"]}},
            {"name": "Marxist Co-Ordination"},
        ]
        assert parse_parties(parties) == [
            ("Hindu Mahasabha", "HM", "HMS"),
            ("Marxist Co-Ordination",),
        ]

    def test_teams(self) -> None:
        module = (
            "team_index_id = 0\nplayers = [[1, 'Abernethy']]\n"
            "teams = [[1, 'ATL', 'Hawks', 1949, 'Atlanta', 'Atlanta Hawks', 'Georgia', [1958]]]\n"
        )
        assert parse_basketball(module) == [("Atlanta Hawks", "Hawks", "ATL")]
        lines = 'teams =\n\t"Miami Dolphins"       : ["dolphins", "fins"]\n'
        assert parse_football(lines) == [("Miami Dolphins", "dolphins", "fins")]


class TestPeople:
    def test_legislators(self) -> None:
        king = {"first": "Peter", "middle": "T.", "last": "King", "nickname": "Pete"}
        records = [
            {"id": {"wikipedia": "Pete King (politician)"}, "name": king},
            {"id": {}, "name": {"first": "John", "last": "Smith"}},
            {"id": {}, "name": {"first": "John", "middle": "Quincy", "last": "Smith"}},
        ]
        assert parse_legislators(records) == [
            ("Pete King", "Peter King", "Peter T. King"),
            ("John Quincy Smith", "John Q. Smith"),
        ]

    def test_nicknames(self) -> None:
        lines = [
            "name1,relationship,name2\n",
            "william,has_nickname,bill\n",
            "william,has_nickname,billy\n",
            "bill,has_nickname,will\n",
            "trudy,has_nickname,gertrude\n",
        ]
        assert parse_nicknames(lines) == [("William", "Bill", "Billy"), ("Trudy",)]


class TestPublications:
    def test_journals(self) -> None:
        lines = ["# remark", "Acta Materialia = Acta Mater.;AM", "Zygote = Zygote", "broken"]
        assert parse_journals(lines) == [("Acta Materialia", "Acta Mater."), ("Zygote",)]

    def test_reports(self) -> None:
        publications: dict[str, list[dict[str, Any]]] = {
            "Bond": [
                {
                    "name": "Bond's United States (US) Reports",
                    "editions": {"Bond": {}},
                    "variations": {"Bond Rep.": "Bond"},
                }
            ],
            "F.": [
                {
                    "name": "Federal Reporter",
                    "editions": {"F.": {}, "F.2d": {}},
                    "variations": {},
                }
            ],
            "Fla. B.J.": [{"name": "Florida Bar Journal", "variations": []}],
        }
        assert parse_reports(publications) == [
            ("Bond's United States Reports", "Bond", "Bond Rep."),
            ("Florida Bar Journal", "Fla. B.J."),
        ]

    def test_courts(self) -> None:
        courts = [
            {"name": "Kentucky Supreme Court", "citation_string": "Ky."},
            {"name": "Colorado Municipal Court", "citation_string": ""},
        ]
        assert parse_courts(courts) == [
            ("Kentucky Supreme Court", "Ky."),
            ("Colorado Municipal Court",),
        ]


class TestTechnology:
    def test_dictionary(self) -> None:
        text = b"info\n   about\nAAT\n   Average Access Time\n"
        index = "00databaseinfo\tA\tO\naat\tO\tb\nAAT\tO\tb\n"
        assert list(read_dictionary(index, text)) == [("AAT", "   Average Access Time\n")]

    def test_vera(self) -> None:
        entries = [
            ("ADSL", " Asymmetric Digital\nSubscriber Line (DSL, ISDN), [net]"),
            ("ZZF", "Zentralamt"),
        ]
        assert parse_vera(entries) == [("ADSL", "Asymmetric Digital Subscriber Line")]

    def test_foldoc(self) -> None:
        entries = [
            ("VLB", "\n   {VESA\n   local bus}\n\n   (1999-01-20)\n"),
            ("VESA local bus", "\n   A bus. See {bus}.\n"),
            ("Amplitude Modulation", "\n   <radio> (AM) A method.\n"),
            ("glass", "\n   (IBM) Silicon.\n"),
        ]
        assert parse_foldoc(entries) == [
            ("VESA local bus", "VLB"),
            ("Amplitude Modulation", "AM"),
            ("glass",),
        ]

    def test_programming(self) -> None:
        modules = [
            "readonly name: 'C++'\n  readonly aliases: readonly ['cpp']\n",
            "readonly name: 'XML'\n  readonly aliases: readonly [\n    'rss',\n    'xml-doc',\n  ]",
            "readonly name: 'Ada'\n",
        ]
        assert parse_programming(modules) == [("C++", "cpp"), ("XML", "xml doc"), ("Ada",)]

    def test_units(self) -> None:
        lines = [
            "# remark\n",
            "kilo- = 1e3 = k-\n",
            "@alias meter = my\n",
            "meter = [length] = m = metre\n",
            "nautical_mile = 1852 * meter = nmi  # sea\n",
            "meter_H2O = 1 = mH2O\n",
            "dozen = 12 = _ = dz\n",
        ]
        assert parse_units(lines) == [
            ("meter", "m", "metre"),
            ("nautical mile", "nmi"),
            ("dozen", "dz"),
        ]
