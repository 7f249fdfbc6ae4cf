"""What kind of synonym a name is, and which words change the meaning of a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel

from synsetmine.errors import DataError
from synsetmine.text.tokens import STOP_WORDS
from synsetmine.text.word_forms import (
    SpelledNames,
    are_opposite,
    have_other_designators,
    head_noun,
    is_designator,
    name_stems,
    spelled_words,
    stem,
    with_nouns,
)
from synsetmine.types import VARIANTS, NameKind, Scope

Numbers: TypeAlias = npt.NDArray[np.int64]
Counts: TypeAlias = tuple[int, int]  # of entities with both names, of pairs of two entities

STRENGTH = 2.0  # what the mean of all words counts in the share of one word, in observations
DISTINCT = 2  # two words conflict if they tell apart at least so many pairs of entities
LARGEST_GROUP = 100  # names alike but for one word; a larger group says little of two of its words


@dataclass(frozen=True, eq=False)
class DifferingWords:
    """Which words change the meaning of a name, learned from sets of names.

    For a word that one of two names has in addition, and for two words by which two names differ:
    the number of entities that have both names, and of pairs of entities that have one each. Two
    words that tell apart fewer than `DISTINCT` pairs of entities, and nothing else, are left out.
    """

    words: Mapping[str, Counts] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Counts] = field(default_factory=dict)  # in alphabetical order

    @classmethod
    def learn(cls, sets: Iterable[Iterable[str]]) -> DifferingWords:
        """Count over the sets of a knowledge base, in time in proportion to its words."""
        members = [list(names) for names in sets]
        labels = np.repeat(np.arange(len(members)), [len(names) for names in members])
        return cls.learn_spelled(
            SpelledNames.of(name for names in members for name in names), labels
        )

    @classmethod
    def learn_spelled(cls, names: SpelledNames, labels: Numbers) -> DifferingWords:
        """The same for spelled names and the number of each one's set, in ascending order."""
        return _Bags(names, labels).count()

    def __repr__(self) -> str:
        return f"DifferingWords({len(self.words)} words, {len(self.pairs)} pairs)"

    def optional(self, word: str) -> float | None:
        """How likely a name means the same without this word; None if the sets do not tell.

        (same + s * mean) / (same + different + s), where s is `STRENGTH`.
        """
        counts = self.words.get(stem(word))
        if counts is None:
            return None
        same, different = counts
        return (same + STRENGTH * self._mean) / (same + different + STRENGTH)

    def distinguish(self, word: str, other: str) -> bool:
        """Whether the two words often tell entities apart, and never two names of one entity."""
        same, different = self._pair(word, other)
        return not same and different >= DISTINCT

    def unite(self, word: str, other: str) -> bool:
        """Whether the two words are more often the difference of one entity's names."""
        same, different = self._pair(word, other)
        return same > different

    def _pair(self, word: str, other: str) -> Counts:
        first, second = sorted((stem(word), stem(other)))
        return self.pairs.get((first, second), (0, 0))

    @cached_property
    def _mean(self) -> float:
        same, different = np.array([*self.words.values()]).reshape(-1, 2).sum(axis=0)
        return float(same / max(same + different, 1))


class _Bags:
    """The names of sets as bags of stems, each once a set.

    A bag's code is the sum of random codes of its words. So the code of a bag without one of its
    words is a difference, and sorting by it brings bags together that are alike but for one word.
    """

    def __init__(self, names: SpelledNames, labels: Numbers) -> None:
        number_of: dict[str, int] = {}
        stems = [number_of.setdefault(stem(word), len(number_of)) for word in names.words]
        is_content = np.array([word not in STOP_WORDS for word in names.words], np.bool_)
        owners = np.repeat(np.arange(len(names)), np.diff(names.ends))
        kept = is_content[names.numbers]
        keys = (
            owners[kept] * max(len(number_of), 1) + np.array(stems, np.int64)[names.numbers[kept]]
        )
        owners, words = np.divmod(np.unique(keys), max(len(number_of), 1))  # each word once
        codes = np.random.default_rng(0).integers(2**63, size=max(len(number_of), 1))
        sums = np.zeros(len(names), np.int64)  # they wrap around
        np.add.at(sums, owners, codes[words])
        filled = np.unique(owners)
        order = filled[np.lexsort((sums[filled], labels[filled]))]
        first = np.append(True, (np.diff(sums[order]) != 0) | (np.diff(labels[order]) != 0))
        bags = np.sort(order[first[: len(order)]])  # of equal bags of an entity one
        number = np.full(len(names), -1, np.int64)
        number[bags] = np.arange(len(bags))
        entries = number[owners] >= 0
        self._vocabulary = [*number_of]
        self._entities = labels[bags]  # (bags,)
        self._words = words[entries]  # (entries,)
        self._bags = number[owners[entries]]  # (entries,)
        self._codes = sums[bags]  # (bags,)
        self._rests = self._codes[self._bags] - codes[self._words]  # (entries,)

    def count(self) -> DifferingWords:
        word_of = self._vocabulary.__getitem__
        words = {word_of(word): counts for word, counts in self._count_words().items()}
        pairs: dict[tuple[str, str], Counts] = {}
        for code, counts in self._count_pairs().items():
            one, other = sorted(map(word_of, divmod(code, len(self._vocabulary))))
            pairs[one, other] = counts
        return DifferingWords(words, pairs)

    def _count_words(self) -> dict[int, Counts]:
        """Of each word: how often one of two names has it in addition."""
        order = np.argsort(self._codes, kind="stable")
        first = np.searchsorted(self._codes[order], self._rests, "left")
        count = np.searchsorted(self._codes[order], self._rests, "right") - first
        entry = np.repeat(np.arange(len(count)), count)
        within = np.arange(len(entry)) - np.repeat(count.cumsum() - count, count)
        rest = order[first[entry] + within]
        return self._tally(self._words[entry], self._bags[entry], rest)

    def _count_pairs(self) -> dict[int, Counts]:
        """Of each pair of words: how often they are the difference of two names."""
        entities = self._entities[self._bags]
        alone = self._rests == 0  # names of one word differ by it, whatever they mean
        apart = self._neighbours(np.where(alone, entities, -1))
        together = self._neighbours(entities)
        one, other = np.concatenate([apart, together], axis=1)
        words = self._words[one], self._words[other]
        differs = words[0] != words[1]
        codes = np.minimum(*words) * len(self._vocabulary) + np.maximum(*words)
        bags = self._bags[one[differs]], self._bags[other[differs]]
        return self._tally(codes[differs], *bags, least=DISTINCT)

    def _neighbours(self, parts: Numbers) -> Numbers:
        """Pairs of entries with the same rest and the same part: (2, pairs)."""
        order = np.lexsort((parts, self._rests))
        rests, parts = self._rests[order], parts[order]
        same = (rests[1:] == rests[:-1]) & (parts[1:] == parts[:-1])
        starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(order) else order
        sizes = np.diff(np.append(starts, len(order)))
        group = np.repeat(np.arange(len(starts)), sizes)
        small = np.repeat(sizes <= LARGEST_GROUP, sizes)
        order, group = order[small], group[small]
        pairs = [np.zeros((2, 0), np.int64)]
        for step in range(1, LARGEST_GROUP):
            near = np.flatnonzero(group[step:] == group[: len(group) - step])
            if not len(near):
                break
            pairs.append(np.stack([order[near], order[near + step]]))
        return np.concatenate(pairs, axis=1)

    def _tally(
        self, keys: Numbers, bags: Numbers, others: Numbers, *, least: int = 1
    ) -> dict[int, Counts]:
        """Of each key: its entities with both bags, and its pairs of entities with one each.

        Keys without an entity need at least so many pairs, since most of them have a single one.
        """
        ends = self._entities[bags], self._entities[others]
        first, second = np.minimum(*ends), np.maximum(*ends)
        order = np.lexsort((second, first, keys))
        keys, first, second = keys[order], first[order], second[order]
        new = np.ones(len(keys), np.bool_)
        new[1:] = (np.diff(keys) != 0) | (np.diff(first) != 0) | (np.diff(second) != 0)
        keys, same = keys[new], (first == second)[new]
        unique, inverse = np.unique(keys, return_inverse=True)
        totals = np.bincount(inverse, minlength=len(unique))
        sames = np.bincount(inverse, same, minlength=len(unique)).astype(np.int64)
        kept = (sames > 0) | (totals >= least)
        counts = zip(sames[kept].tolist(), (totals - sames)[kept].tolist(), strict=True)
        return dict(zip(unique[kept].tolist(), counts, strict=True))


KINDS: tuple[NameKind, ...] = get_args(NameKind)  # the most alike first

LIKELY = 0.5  # from this probability on, a name in other words is taken to mean the same
OPTIONAL = 0.5  # a word can be left out if at least this share of the counts says so
SHORT_FORM = 10  # letters of an abbreviation, at most
SHORTEST_ROOT = 4  # letters that words of one root share, at least
_ENDING = re.compile(  # of adjectives, agents, acts and products of one root
    "(e|s|t|y|al|ant|ary|ate|ated|ation|ce|cy|ed|ent|er|ergic|ic|ing|ion|ist|ity|ive|ly|or|ous|rgic)?"
)
_SPELLINGS = ({"", "e", "s"}, {"ion", "ation"})  # endings by which spellings differ
_NEGATIONS = frozenset({"not", "without"})
_PIECE = re.compile(r"[^\W_]+\.?")
_SHORT_PLURAL = re.compile(r"(?<=\b[A-Z][A-Z\d])['’]?s\b")  # "DCs"; `stem` knows longer words


class Comparison(NamedTuple):
    """What kind of variant a name is, and the known name that it is nearest to."""

    kind: NameKind
    nearest: str


def name_kind(name: str, known: Iterable[str]) -> Comparison:
    """The kind of a new name against the known names of its set.

    The kind is that of the known name that it is most alike, in the order of `KINDS`; among names
    of one kind the nearest has the highest edit similarity.

    >>> name_kind("heart failures", ["Failure, Heart", "heart failure"])
    Comparison(kind='inflection', nearest='heart failure')
    """
    compared = [(KINDS.index(pair_kind(name, other)), other) for other in known]
    if not compared:
        raise DataError("expected at least one known name to compare with", value=name)
    first = min(rank for rank, _ in compared)
    text = " ".join(spelled_words(name))

    def similarity(other: str) -> float:
        return Indel.normalized_similarity(text, " ".join(spelled_words(other)))

    nearest = max((other for rank, other in compared if rank == first), key=similarity)
    return Comparison(KINDS[first], nearest)


def pair_kind(name: str, other: str) -> NameKind:
    """What distinguishes two names.

    - spelling: case, hyphens, spaces, accents, British or American spelling, numerals
    - inflection: number, possessive and adjectival endings, also the plural of a short form
    - word-order: the same words in another order or with other function words
    - abbreviation: one has the initials or a short form of words of the other
    - other-words: all else

    >>> pair_kind("Tumours", "TUMORS"), pair_kind("MRI", "magnetic resonance imaging")
    ('spelling', 'abbreviation')
    """
    words, others = spelled_words(name), spelled_words(other)
    if "".join(words) == "".join(others):
        return "spelling"
    words, others = (spelled_words(_SHORT_PLURAL.sub("", side)) for side in (name, other))
    stems, other_stems = with_nouns([stem(w) for w in words], [stem(w) for w in others])
    if "".join(stems) == "".join(other_stems):
        return "inflection"
    if sorted(_content(stems)) == sorted(_content(other_stems)):
        return "word-order"
    return "abbreviation" if is_abbreviation(name, other) else "other-words"


def _content(words: Sequence[str]) -> list[str]:
    """The words that are no function words; "a" behind such a word is a letter ("hepatitis A")."""
    before = ("", *words)
    return [
        word
        for word, last in zip(words, before, strict=False)
        if word not in STOP_WORDS or (word == "a" and last and last not in STOP_WORDS)
    ]


def relation_of(
    name: str,
    known: Iterable[str],
    probability: float = 1.0,
    words: DifferingWords | None = None,
) -> Scope:
    """The likely relation of a new name to the set with these known names.

    A variant is exact. A name with further words that change the meaning is narrow if it keeps the
    head noun, and related if not; one that lacks such words is broad, or related. Words of which
    the sets say nothing change the meaning. A name that conflicts is related, as is one that
    differs by the endings of words ("HIV-infected", "HIV infection") if the sets do not say that
    these words mean the same. The known name with the fewest differing words counts. Where the
    words of no known name decide, because both names have words of their own, the probability does:
    exact or related.

    >>> relation_of("acute heart failure", ["heart failure", "cardiac failure"])
    'narrow'
    >>> relation_of("heart failure", ["acute heart failure"])
    'broad'
    """
    known, words = list(known), words or DifferingWords()
    if name_kind(name, known).kind != "other-words":
        return "exact"
    decided = [
        (relation != "exact", count, relation)
        for count, relation in (_pair_relation(name, other, words) for other in known)
        if relation is not None
    ]
    if decided:
        return min(decided)[-1]
    return "exact" if probability >= LIKELY else "related"


def names_conflict(name: str, other: str, words: DifferingWords | None = None) -> bool:
    """Whether two names name siblings or opposites: type 1 and type 2, left and right.

    They share a word, and differ by their designators (numbers, single letters, Greek letters), by
    a negation, or by two words that are opposites or that the knowledge base uses to tell entities
    apart.

    >>> conflicting("phospholipase A2", "phospholipase D"), conflicting("left lung", "lung")
    (True, False)
    """
    if pair_kind(name, other) in VARIANTS:
        return False
    stems, others = name_stems(name), name_stems(other)
    own, theirs = stems - others, others - stems
    if any(are_opposite(a, b) for a in own for b in theirs):
        return True
    if not any(map(str.isalpha, stems & others)):
        return False
    alike = any(all(map(is_designator, side)) for side in (own, theirs))
    if alike and have_other_designators(spelled_words(name), spelled_words(other)):
        return True
    if not (own and theirs):
        return bool((own | theirs) & _NEGATIONS)
    one_each = len(own) == len(theirs) == 1
    return words is not None and one_each and words.distinguish(*own, *theirs)


def name_opposites(name: str, other: str) -> bool:
    """Whether two names differ by opposites, whatever a knowledge base says.

    A prefix that one word has and the other lacks counts only if nothing else differs.

    >>> name_opposites("male rats", "female rats"), name_opposites("hypertension", "hypotension")
    (True, True)
    >>> name_opposites("non-smoker", "smoker"), name_opposites("nonprofit", "not-for-profit")
    (True, False)
    """
    stems, others = name_stems(name), name_stems(other)
    own, theirs = stems - others, others - stems
    alone = len(own) == len(theirs) == 1
    return any(
        are_opposite(a, b) and (alone or not (a.endswith(b) or b.endswith(a)))
        for a in own
        for b in theirs
    )


def is_abbreviation(name: str, other: str) -> bool:
    """Whether one of two names is a short form of the other, or has one in place of some words.

    A short form has the initials of the words, with or without function words. If it is written in
    capitals, further letters may stand inside the words, in the order of the words, and most words
    have one (a stricter form of Schwartz and Hearst's matching, since no text proposes the pair).

    >>> is_abbreviation("ECG", "electrocardiogram"), is_abbreviation("HIV infection", "HIV")
    (True, False)
    >>> is_abbreviation("E. coli", "Escherichia coli"), is_abbreviation("cat", "chronic fatigue")
    (True, False)
    """
    parts, others = _PIECE.findall(name), _PIECE.findall(other)
    start = _shared_length(parts, others)
    parts, others = parts[start:], others[start:]
    end = _shared_length(parts[::-1], others[::-1])
    parts, others = parts[: len(parts) - end], others[: len(others) - end]
    initial = bool(end) and not start  # a single letter may stand for the first of several words
    return _is_short_form(parts, others, initial) or _is_short_form(others, parts, initial)


def _pair_relation(name: str, other: str, words: DifferingWords) -> tuple[int, Scope | None]:
    """The number of differing words of two names, and the relation that these imply."""
    stems, others = (
        frozenset(_content([stem(word) for word in spelled_words(side)])) for side in (name, other)
    )
    count = len(stems ^ others)
    if names_conflict(name, other, words):
        return count, "related"
    if derived := _derivations(stems - others, others - stems):
        return count, "exact" if all(words.unite(*pair) for pair in derived) else "related"
    if not stems & others:
        return count, None
    own, theirs = (
        {word for word in side if (words.optional(word) or 0) < OPTIONAL}
        for side in (stems - others, others - stems)
    )
    if not own and not theirs:
        return count, "exact"
    if own and theirs:
        unites = len(own) == len(theirs) == 1 and words.unite(*own, *theirs)
        return count, "exact" if unites else None
    if head_noun(name) != head_noun(other):
        return count, "related"
    return count, "narrow" if own else "broad"


def _derivations(own: Set[str], theirs: Set[str]) -> list[tuple[str, str]]:
    """The differing words of two names in pairs, if those of each pair have one root.

    >>> _derivations({"infected"}, {"infection"}), _derivations({"images"}, {"scans"})
    ([('infected', 'infection')], [])
    """
    pairs = [*zip(sorted(own), sorted(theirs), strict=False)]
    if len(own) != len(theirs) or not all(_have_one_root(*pair) for pair in pairs):
        return []
    return pairs


def _have_one_root(word: str, other: str) -> bool:
    root = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    root = min(len(word), len(other)) if root is None else root
    endings = {word[root:], other[root:]}
    known = all(map(_ENDING.fullmatch, endings))
    return root >= SHORTEST_ROOT and known and not any(endings <= one for one in _SPELLINGS)


def _shared_length(parts: Sequence[str], others: Sequence[str]) -> int:
    """How many parts are the same from the start on."""
    count = 0
    for part, other in zip(parts, others, strict=False):
        if stem(part.casefold()) != stem(other.casefold()):
            break
        count += 1
    return count


def _is_short_form(short: Sequence[str], long: Sequence[str], initial: bool) -> bool:
    """Whether the parts of a name are short for the parts of another one."""
    written = "".join(part.removesuffix(".") for part in short)
    if len(written) > 2 and written[-1] == "s" and written[:-1].isupper():
        written = written[:-1]  # "MRIs"
    letters, words = written.casefold(), [part.removesuffix(".").casefold() for part in long]
    if not letters or not words or len(letters) > SHORT_FORM or len(letters) >= len("".join(words)):
        return False
    content = [word for word in words if word not in STOP_WORDS] or words
    dotted = short[-1].endswith(".")
    if len(words) == 1 and len(letters) > 1 and dotted:
        return _words_with_letters(letters, words) == 1
    if len(letters) == 1:
        return len(words) == 1 and words[0].startswith(letters) and (dotted or initial)
    if len(words) > 1 and letters in ("".join(w[0] for w in words), "".join(w[0] for w in content)):
        return True
    capitals = sum(letter.isupper() or letter.isdigit() for letter in written)
    if written.isdigit() or 2 * capitals < len(written) or letters[0] != content[0][0]:
        return False
    return 2 * _words_with_letters(letters, content) > len(content)


def _words_with_letters(letters: str, words: Sequence[str]) -> int:
    """The most words that hold all the letters in their order; 0 if the words do not hold them.

    The first letter that a word holds is its first one; the first word holds one.
    """
    reached = {0: 0}  # letters matched -> most words that hold them
    for position, word in enumerate(words):
        after = dict(reached) if position else {}
        for matched, count in reached.items():
            at = 0 if matched < len(letters) and word[0] == letters[matched] else -1
            while at >= 0:
                matched += 1
                after[matched] = max(after.get(matched, 0), count + 1)
                at = word.find(letters[matched], at + 1) if matched < len(letters) else -1
        reached = after
    return reached.get(len(letters), 0)
