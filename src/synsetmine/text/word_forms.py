"""The words of names in one form: spelling, number, designators and opposites."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.text.tokens import STOP_WORDS, name_words

Numbers: TypeAlias = npt.NDArray[np.int32]
Ends: TypeAlias = npt.NDArray[np.int64]

_CACHED = 1 << 16  # names and words whose forms are kept


@lru_cache(_CACHED)
def spelled_words(name: str) -> tuple[str, ...]:
    """The words of a name in one spelling: American, numerals as digits, Greek letters by name.

    Letters and numbers are words of their own, prefixes are not.

    >>> spelled_words("IL2, anti-tumour"), spelled_words("Type II β-Haemolysis")
    (('il', '2', 'antitumor'), ('type', '2', 'beta', 'hemolysis'))
    """
    words = _written_words(name)
    several = len(words) > 1
    return tuple(part for word in words for part in _spelled_parts(word, several))


@dataclass(frozen=True, eq=False)
class SpelledNames:
    """The spelled words of many names, as numbers; the words of name i are at ends[i] to ends[i+1].

    Each distinct word is spelled once, so millions of names take little time and memory.
    """

    words: Sequence[str]  # distinct, in the order of their first use
    numbers: Numbers  # (entries,)
    ends: Ends  # (names + 1,)

    @classmethod
    def of(cls, names: Iterable[str]) -> SpelledNames:
        return cls((), np.empty(0, np.int32), np.zeros(1, np.int64)).extend(names)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def extend(self, names: Iterable[str]) -> SpelledNames:
        """These names and further ones behind them."""
        number_of = {word: number for number, word in enumerate(self.words)}
        parts_of: tuple[dict[str, list[int]], ...] = ({}, {})  # of a single word, of one of several
        numbers, ends = array("i"), array("q")
        for name in names:
            words = _written_words(name)
            several = len(words) > 1
            known = parts_of[several]
            for word in words:
                if word not in known:
                    parts = _spelled_parts(word, several)
                    known[word] = [number_of.setdefault(part, len(number_of)) for part in parts]
                numbers.extend(known[word])
            ends.append(len(numbers))
        return SpelledNames(
            list(number_of),
            np.concatenate([self.numbers, np.frombuffer(numbers, np.int32)]),
            np.concatenate([self.ends, self.ends[-1] + np.frombuffer(ends, np.int64)]),
        )

    def words_of(self, name: int) -> list[str]:
        """The same as `spelled_words` of the name with this number."""
        return [
            self.words[number] for number in self.numbers[self.ends[name] : self.ends[name + 1]]
        ]


@lru_cache(_CACHED)
def stem(word: str) -> str:
    """The word in one spelling, without its number ending, English or Latin.

    >>> [stem(word) for word in ("bodies", "bacilli", "analyses", "women", "viruses", "bus")]
    ['body', 'bacillus', 'analysis', 'woman', 'virus', 'bus']
    """
    word = _spelling(word)
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, shortest, singular in _ENDINGS:
        if len(word) >= shortest and word.endswith(ending):
            word = word[: len(word) - len(ending)] + singular
            break
    return _IRREGULAR.get(word, word)  # "womens" without the s


@lru_cache(_CACHED)
def name_stems(name: str) -> frozenset[str]:
    """The stems of the words of a name that are no function words."""
    return frozenset(stem(word) for word in spelled_words(name) if word not in STOP_WORDS)


def with_nouns(stems: list[str], others: list[str]) -> tuple[list[str], list[str]]:
    """The stems of two names; where one is the adjective of the only other one, the noun for both.

    >>> with_nouns(["arterial", "disease"], ["disease", "artery"])
    (['artery', 'disease'], ['disease', 'artery'])
    """
    own, theirs = set(stems) - set(others), set(others) - set(stems)
    if len(own) != 1 or len(theirs) != 1:
        return stems, others
    (word,), (other,) = own, theirs
    (root, ending), (other_root, other_ending) = _root(word), _root(other)
    adjectives = (ending in _ADJECTIVAL) + (other_ending in _ADJECTIVAL)
    if root != other_root or (adjectives != 1 and {ending, other_ending} != {"ic", "ical"}):
        return stems, others
    noun = other if ending in _ADJECTIVAL else word
    return [noun if w == word else w for w in stems], [noun if w == other else w for w in others]


def designators(words: Sequence[str]) -> tuple[str, ...]:
    """What numbers a thing among others of its name: numerals and single letters, sorted.

    >>> designators(["first", "world", "war"]) == designators(["world", "war", "i"])
    True
    >>> designators(["hepatitis", "b"]), designators(["gpt4"]), designators(["a", "cold"])
    (('b',), ('4',), ())
    """
    kept: list[str] = []
    for position, word in enumerate(words):
        if word in _NUMERALS:
            kept.append(_NUMERALS[word])
        elif len(word) == 1 and word.isalpha():
            if (position or word != "a") and len(words) > 1:
                kept.append(word)
        else:
            kept += re.findall(r"\d+", word)
    return tuple(sorted(kept))


def is_designator(word: str) -> bool:
    """Whether a spelled word numbers things: a number, a letter, or a word before these."""
    return len(word) == 1 or word.isdigit() or word in _GREEK_NAMES or word in _NUMBERING


def have_other_designators(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the words of both names have numbers, or letters, and each has one of its own.

    One name may have a number where another one of the same thing has a letter.
    """
    marks, other_marks = map(_marks, (words, others))
    return any(_have_other_marks(marks, other_marks, numbers=kind) for kind in (True, False))


def numbers_a_thing(words: Sequence[str]) -> bool:
    """Whether a name has a number, or says which generation of a family it means."""
    return bool(_GENERATIONS & {*words}) or any(mark.isdigit() for mark in _marks(words))


def number_two_things(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two names that share a word number two things, generations of a family too.

    >>> number_two_things(["iphone", "12"], ["iphone", "13"])
    True
    >>> number_two_things(["bush", "jr"], ["bush", "sr"])
    True
    """
    if not any(word.isalpha() and len(word) > 1 for word in {*words} & {*others}):
        return False
    generations = _GENERATIONS & {*words}, _GENERATIONS & {*others}
    if all(generations) and generations[0].isdisjoint(generations[1]):
        return True
    return _have_other_marks(*map(_marks, (words, others)), numbers=True)


def are_opposite(word: str, other: str) -> bool:
    """Whether two stems are opposites, or have opposite prefixes before the same letters.

    >>> are_opposite("superior", "inferior"), are_opposite("hypertension", "hypotension")
    (True, True)
    """
    if other in _OPPOSITES.get(word, ()):
        return True
    rests = (
        (word.removeprefix(prefix), other.removeprefix(other_prefix))
        for prefix, other_prefix in _OPPOSITE_PREFIXES
        if word.startswith(prefix) and other.startswith(other_prefix)
    )
    return any(rest == other_rest and len(rest) > 3 for rest, other_rest in rests)


def head_noun(name: str) -> str:
    """The stem of the head noun: the last word before a preposition that is no designator.

    >>> head_noun("Failure, Acute Heart"), head_noun("diseases of the heart"), head_noun("war 2")
    ('failure', 'disease', 'war')
    """
    stems = [stem(word) for word in spelled_words(" ".join(reversed(name.split(", "))))]
    end = next((i for i, word in enumerate(stems) if i and word in _PREPOSITIONS), len(stems))
    nouns = [word for word in stems[:end] if not is_designator(word)]
    return (nouns or stems or [""])[-1]


def _written_words(name: str) -> list[str]:
    return name_words(_PREFIX.sub(r"\1", _POSSESSIVE.sub("", name))) or [name.casefold()]


def _spelled_parts(word: str, several: bool) -> list[str]:
    """The letters and numbers of a word in one spelling; `several`: its name has more words."""
    return [
        _NUMERALS[part] if several and part in _NUMERALS else _spelling(part)
        for part in _PARTS.findall(word)
    ]


@lru_cache(_CACHED)
def _spelling(word: str) -> str:
    if not word.isascii():
        word = "".join(_GREEK.get(letter, letter) for letter in word)
    if len(word) > 3:
        for pattern, american in _AMERICAN:
            word = pattern.sub(american, word)
    return _AMERICAN_WORDS.get(word, word)


def _root(word: str) -> tuple[str, str]:
    """A noun or adjective without its ending, and the ending."""
    for ending in (*_ADJECTIVAL, *_NOMINAL):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 4:
            return root, ending
    return word, ""


_GENERATIONS = {"jr", "junior", "sr", "senior"}


def _have_other_marks(marks: set[str], others: set[str], *, numbers: bool) -> bool:
    own, theirs = marks - others, others - marks
    return all(any(mark.isdigit() is numbers for mark in side) for side in (own, theirs))


def _marks(words: Sequence[str]) -> set[str]:
    """The designators of spelled words; the beta receptor may be receptor B, factor V factor 5."""
    latin = [word[0] if word in _GREEK_NAMES else word for word in words]
    article = latin[:1] == ["a"] and words[0] == "a" and len(words) > 1 and len(words[1]) > 1
    marks = designators(["", *latin[article:]])
    return {_ROMAN.get(mark, mark) for mark in marks}


def _pairs(text: str) -> dict[str, str]:
    """Words and what takes their place, from pairs such as `feet/foot`."""
    return {word: other for word, _, other in (pair.partition("/") for pair in text.split())}


def _opposites(groups: str) -> dict[str, frozenset[str]]:
    """Of each stem the opposites, from groups such as `old/young old/new`."""
    opposites: dict[str, set[str]] = {}
    for group in groups.split():
        stems = {stem(word) for word in group.split("/")}
        for word in stems:
            opposites.setdefault(word, set()).update(stems - {word})
    return {word: frozenset(others) for word, others in opposites.items()}


_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ](?=s\b)")
_PREFIX = re.compile(
    r"\b(non|anti|pre|post|intra|extra|inter|sub|hyper|hypo|micro|macro|co)[- ](?=\w)", re.I
)
_PARTS = re.compile(r"\d+|(?:i{1,3}|iv)(?=[a-d]$)|\D+")  # "a2", "iib"

_NUMERALS = {
    word: str(number)
    for number, forms in enumerate(
        (
            *("i one first 1st", "ii two second 2nd", "iii three third 3rd", "iv four fourth 4th"),
            *("five fifth 5th", "vi six sixth 6th", "vii seven seventh 7th"),
            *("viii eight eighth 8th", "ix nine ninth 9th", "ten tenth 10th", "xi eleven", "xii"),
        ),
        start=1,
    )
    for word in forms.split()
}
_ROMAN = {"v": "5", "x": "10"}
_GREEK = _pairs(
    "α/alpha β/beta γ/gamma δ/delta ε/epsilon ζ/zeta η/eta θ/theta ι/iota κ/kappa λ/lambda μ/mu "
    "ν/nu ξ/xi ο/omicron π/pi ρ/rho σ/sigma τ/tau υ/upsilon φ/phi χ/chi ψ/psi ω/omega"
)
_NUMBERING = frozenset({"type", "stage", "grade", "class", "group", "number", "level", "phase"})
_PREPOSITIONS = STOP_WORDS - {"a", "an", "and", "la", "le", "les", "or", "the", "et", "und"}

_IRREGULAR = _pairs(
    "men/man women/woman children/child feet/foot teeth/tooth mice/mouse lice/louse geese/goose "
    "people/person oxen/ox leaves/leaf lives/life wolves/wolf knives/knife wives/wife halves/half "
    "calves/calf shelves/shelf thieves/thief genera/genus corpora/corpus ova/ovum phyla/phylum "
    "criteria/criterion phenomena/phenomenon ganglia/ganglion crises/crisis axes/axis "
    "theses/thesis testes/testis appendices/appendix matrices/matrix cervices/cervix "
    "vertices/vertex indices/index cortices/cortex helices/helix varices/varix apices/apex "
    "gases/gas lenses/lens buses/bus species/species series/series news/news lens/lens gas/gas "
    "bus/bus texas/texas"
)
# Ending, letters of the shortest word that has it as a plural ending, ending of the singular.
_ENDINGS = (
    *(("bacteria", 8, "bacterium"), ("chondria", 9, "chondrion"), ("ae", 5, "a")),
    *(("illi", 6, "illus"), ("cci", 5, "ccus"), ("lei", 6, "leus"), ("oli", 6, "olus")),
    *(("uli", 6, "ulus"), ("ungi", 5, "ungus"), ("foci", 4, "focus"), ("loci", 4, "locus")),
    *(("mbi", 6, "mbus"), ("nchi", 6, "nchus"), ("dii", 5, "dius")),
    *(("yses", 6, "ysis"), ("heses", 7, "hesis"), ("stases", 8, "stasis"), ("oses", 8, "osis")),
    *(("ies", 5, "y"), ("ches", 5, "ch"), ("shes", 5, "sh"), ("sses", 5, "ss"), ("xes", 4, "x")),
    *(("auses", 6, "ause"), ("ouses", 6, "ouse"), ("uses", 7, "us"), ("oes", 6, "o")),
    *(("ss", 2, "ss"), ("us", 2, "us"), ("is", 2, "is"), ("s", 4, "")),
)
_ADJECTIVAL = ("ical", "ial", "al", "ic", "ian", "ean", "an", "ary", "ar", "ous")
_NOMINAL = ("ia", "us", "um", "is", "on", "a", "e", "y")

# British patterns and what is American; both spellings of a word end up the same.
_AMERICAN = tuple(
    (re.compile(pattern), american)
    for pattern, american in (
        ("ae(?=[a-z]{2})", "e"),
        ("oe(?=a|[a-z]{2})", "e"),
        ("(?<=[a-z]{2})our(?=$|s$|ed|ing|al|ful|is|able|less|ite|h)", "or"),
        ("(?<=[a-z][bt])re(?=s?$)", "er"),
        ("is(?=(?:e|ed|ing|er|ers|ations?)$)", "iz"),
        ("ys(?=(?:e|ed|ing|er|ers)$)", "yz"),
        ("ll(?=(?:ed|ing|er|ers|ery)$)", "l"),
        ("ph", "f"),
        ("ogue(?=s?$)", "og"),
        ("ence(?=s?$)", "ense"),
        ("mme(?=s?$)", "m"),
    )
)
_AMERICAN_WORDS = _pairs(
    "grey/gray aluminium/aluminum mould/mold moulds/molds plough/plow ploughs/plows cheque/check "
    "cheques/checks tyre/tire tyres/tires &/and"
)

# For knowledge bases that are too small to learn from.
_OPPOSITES = _opposites(
    "male/female man/woman boy/girl father/mother son/daughter brother/sister paternal/maternal "
    "left/right superior/inferior upper/lower anterior/posterior internal/external inner/outer "
    "medial/lateral proximal/distal dorsal/ventral ascending/descending deep/superficial "
    "north/south/east/west northern/southern/eastern/western front/back top/bottom "
    "acute/chronic benign/malignant positive/negative primary/secondary/tertiary major/minor "
    "high/low maximum/minimum early/late old/new old/young ancient/modern long/short large/small "
    "big/small single/double simple/complex active/inactive active/passive open/closed hot/cold "
    "aerobic/anaerobic systolic/diastolic afferent/efferent dominant/recessive motor/sensory "
    "congenital/acquired adult/child adult/juvenile agonist/antagonist donor/recipient "
    "ipsilateral/contralateral increase/decrease increased/decreased gain/loss input/output "
    "import/export public/private urban/rural civil/military day/night summer/winter black/white "
    "heavy/light full/partial general/special supply/demand buyer/seller employer/employee "
    "older/younger older/young inclusion/exclusion success/failure complete/incomplete once/twice "
    "direct/indirect mean/median mrna/mirna/lncrna/circrna/sirna/trna/rrna "
    "january/february/march/april/may/june/july/august/september/october/november/december"
)
_OPPOSITE_PREFIXES = tuple(
    pair
    for one, other in (
        *(("hyper", "hypo"), ("pre", "post"), ("intra", "extra"), ("intra", "inter")),
        *(("endo", "exo"), ("micro", "macro"), ("over", "under"), ("homo", "hetero")),
        *(("supra", "infra"), ("supra", "sub"), ("uni", "bi"), ("mono", "poly"), ("up", "down")),
        *(("", "non"), ("", "anti"), ("pro", "anti")),
    )
    for pair in ((one, other), (other, one))
)
_GREEK_NAMES = frozenset(map(_spelling, _GREEK.values()))
