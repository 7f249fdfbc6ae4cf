"""Made-up vocabularies with known synonym sets, of any size, in three views.

An entity lies in a family of siblings ("acute viral hepatitis", "chronic viral hepatitis"), which
share words and lie close to each other; its names are the members of one set. The number of
families grows with the vocabulary while each stays as crowded as it was, so that a larger one is
more work and hardly a harder problem. From name to name a set holds

- variants of a name: another spelling, a plural, a hyphen, another order, a slip, initials;
- other names of the same thing, in part or altogether of other words.

Set sizes follow a power law: most are one or two, the largest 20. No view is enough by itself:

- *corpus vectors* know the entity whatever its names are, but names of one thing are used in
  different ways, rare terms are noisy, the rarest have no vector, and siblings are near;
- *encoder vectors* know the words, and what is meant only for some names;
- *strings* know variants, and take siblings for variants too.

The same count and seed give the same vocabulary; other seeds draw other entities, names and words
from the same process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, unit_rows

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]

LARGEST, POWER = 20, 2.2  # of sets: how many have n terms falls with this power of n
CORPUS, ENCODER = 50, 64  # dimensions
SIBLINGS = (1, 40)  # entities of a family
TYPICAL_FAMILY = 8.0
NEW_NAME = 0.4  # of the members of a set but the first; the others are variants of earlier ones
ROWS = 1 << 16  # vectors that are made at a time
# fmt: off
MODIFIERS = (
    "acute", "chronic", "type 1", "type 2", "primary", "secondary", "congenital", "juvenile",
    "adult", "benign", "malignant", "left", "right", "early", "late", "mild", "severe", "type 3",
    "type 4", "familial", "sporadic", "recurrent", "upper", "lower", "inner", "outer", "minor",
    "major", "simple", "complex", "partial", "total", "active", "latent", "anterior", "posterior",
    "grade 1", "grade 2", "grade 3", "atypical",
)
ONSETS = (
    "b", "br", "c", "ch", "d", "dr", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "ph", "pr", "qu",
    "r", "s", "sc", "st", "t", "th", "tr", "v", "w", "z",
)
VOWELS = ("a", "ae", "e", "i", "o", "ou", "u", "y")
CODAS = ("", "", "", "l", "n", "r", "s", "t", "x", "nd")
SPELLINGS = (("ae", "e"), ("ou", "o"), ("ph", "f"), ("y", "i"), ("c", "k"))
# fmt: on
KINDS = ("spelling", "plural", "joined", "comma", "of", "slip", "initials")
SHARES = (0.22, 0.22, 0.12, 0.14, 0.06, 0.1, 0.14)


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Terms in random order, the number of the set of each, and their vectors."""

    terms: tuple[Term, ...]
    labels: Numbers  # (terms,)
    corpus: Floats  # (terms, CORPUS), zeros where a term has no vector
    encoder: Floats  # (terms, ENCODER)

    def __len__(self) -> int:
        return len(self.terms)

    def first(self, count: int) -> Synthetic:
        part = slice(count)
        return Synthetic(self.terms[part], self.labels[part], self.corpus[part], self.encoder[part])

    @cached_property
    def views(self) -> TermViews:
        """The views of the terms; the strings are in the terms."""
        known = (self.corpus != 0).any(axis=1)
        terms = tuple(term for term, there in zip(self.terms, known, strict=True) if there)
        vectors = TermVectors(terms, self.corpus[known])
        return TermViews((vectors,), TermVectors(self.terms, self.encoder))

    @cached_property
    def sets(self) -> SynonymSets:
        return SynonymSets.from_labels(self.terms, self.labels.tolist())

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        surfaces = "\n".join(term.surface for term in self.terms)
        (folder / "surfaces.txt").write_text(surfaces, encoding="utf-8")
        for name in ("labels", "corpus", "encoder"):
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> Synthetic:
        surfaces = (folder / "surfaces.txt").read_text(encoding="utf-8").split("\n")
        tables = (np.load(folder / f"{name}.npy") for name in ("labels", "corpus", "encoder"))
        return cls(tuple(map(Term, surfaces)), *tables)


def make_vocabulary(count: int, seed: int) -> Synthetic:
    """`count` terms with different surfaces, whatever their case."""
    if count < 1:
        raise ValueError(f"a vocabulary has at least one term, not {count}")
    sizes = _set_sizes(count, np.random.default_rng([seed, 0]))
    family = _families(len(sizes), np.random.default_rng([seed, 1]))
    lexicon = _Lexicon.of(count, seed)
    names = _Names(sizes, family, lexicon, np.random.default_rng([seed, 2]))
    entity = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its set
    order = np.random.default_rng([seed, 3]).permutation(count)
    chance = np.random.default_rng([seed, 4])
    rarity = (chance.random(count) ** (1 / (1 + np.minimum(place, 3)))).astype(np.float32)
    corpus = _corpus_vectors(entity, family, names.name_of, rarity, seed)
    encoder = _encoder_vectors(entity, family, names, lexicon, seed)
    terms = tuple(Term(names.surfaces[row]) for row in order.tolist())
    return Synthetic(terms, entity[order], corpus[order], encoder[order])


# --- Sets and families ---


def _set_sizes(count: int, chance: np.random.Generator) -> Numbers:
    """Sizes that add up to the count."""
    possible = np.arange(1, LARGEST + 1)
    shares = possible**-POWER / (possible**-POWER).sum()
    return _up_to(count, lambda n: chance.choice(possible, n, p=shares), float(possible @ shares))


def _families(entities: int, chance: np.random.Generator) -> Numbers:
    """The family of each entity: (entities,)."""

    def draw(n: int) -> Numbers:
        return np.clip(chance.lognormal(np.log(TYPICAL_FAMILY), 0.8, n).round(), *SIBLINGS)

    sizes = _up_to(entities, draw, TYPICAL_FAMILY)
    return np.repeat(np.arange(len(sizes)), sizes)


def _up_to(total: int, draw: Any, mean: float) -> Numbers:
    """Drawn numbers that add up to the total, the last one cut short."""
    drawn = np.zeros(0, np.int64)
    while drawn.sum() < total:
        drawn = np.concatenate((drawn, draw(int((total - drawn.sum()) / mean) + 10).astype(int)))
    last = int(np.searchsorted(drawn.cumsum(), total))
    sizes = drawn[: last + 1]
    sizes[-1] -= sizes.sum() - total
    return sizes


# --- Words and names ---


@dataclass(frozen=True, eq=False)
class _Lexicon:
    """Words, the modifiers first, and their vectors; common words come before rare ones."""

    words: list[str]
    vectors: Floats  # (words, ENCODER)
    ends: npt.NDArray[np.float64]  # (made-up words,) how often words up to this one are drawn

    @classmethod
    def of(cls, count: int, seed: int) -> _Lexicon:
        chance = np.random.default_rng([seed, 5])
        wanted = max(count // 3, 300)
        made = _made_up_words(wanted, chance)
        vectors = chance.standard_normal((len(MODIFIERS) + wanted, ENCODER), np.float32)
        # Zipf's law, with the top flattened as in Mandelbrot's: no word is in every tenth name.
        shares = 1 / (np.arange(wanted) + 20.0)
        return cls([*MODIFIERS, *made], vectors, shares.cumsum() / shares.sum())

    def draw(self, shape: int | tuple[int, ...], chance: np.random.Generator) -> Numbers:
        """Numbers of made-up words."""
        return np.searchsorted(self.ends, chance.random(shape)) + len(MODIFIERS)


def _made_up_words(count: int, chance: np.random.Generator) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        missing = count - len(found)
        syllables = [chance.integers(len(part), size=(missing, 4)) for part in _PARTS]
        lengths = chance.choice((1, 2, 3, 4), missing, p=(0.04, 0.4, 0.4, 0.16)).tolist()
        drawn = zip(*(part.tolist() for part in syllables), lengths, strict=True)
        for onsets, vowels, codas, length in drawn:
            parts = zip(onsets[:length], vowels, codas, strict=False)
            found["".join(ONSETS[a] + VOWELS[b] + CODAS[c] for a, b, c in parts)] = None
    return list(found)


_PARTS = (ONSETS, VOWELS, CODAS)


class _Names:
    """The surface of each term, and the name that it is a form of."""

    def __init__(
        self, sizes: Numbers, family: Numbers, lexicon: _Lexicon, chance: np.random.Generator
    ) -> None:
        self.surfaces: list[str] = []
        self.words_of: list[tuple[int, ...]] = []  # numbers of the words of each name
        self.opaque: list[bool] = []  # terms whose words say nothing: initials
        names: list[int] = []
        self._words = lexicon.words
        self._taken: set[str] = set()
        self._spare = _endless(lambda: lexicon.draw(4096, chance).tolist())
        self._chances = _endless(lambda: chance.random(4096).tolist())
        self._kinds = _endless(lambda: chance.choice(len(KINDS), 4096, p=SHARES).tolist())
        heads = lexicon.draw((int(family[-1]) + 1, 4), chance).tolist()
        place = np.arange(len(family)) - np.searchsorted(family, family)
        entities = zip(sizes.tolist(), family.tolist(), place.tolist(), strict=True)
        for size, number, sibling in entities:
            own: list[int] = []  # names of this entity
            for _ in range(size):
                if not own or next(self._chances) < NEW_NAME:
                    own.append(len(self.words_of))
                    self.words_of.append(self._new_name(heads[number], sibling, len(own)))
                    self._take_new(own[-1])
                    names.append(own[-1])
                else:
                    names.append(own[int(next(self._chances) * len(own))])
                    self._take_variant(names[-1])
        self.name_of = np.array(names, np.int64)  # (terms,)

    def _new_name(self, heads: Sequence[int], sibling: int, ordinal: int) -> tuple[int, ...]:
        """Words of another name: with a modifier, with a word of its own, or of such words only.

        A family has two words for what its members are, one or two words long.
        """
        head = heads[:2] if heads[0] % 2 else heads[:1]
        if ordinal == 2 or (ordinal > 2 and next(self._chances) < 0.5):
            head = heads[2:3]
        form = next(self._chances)
        if form < 0.45 and ordinal <= 2:
            modifier = (sibling + heads[3]) % len(MODIFIERS)
            return (modifier, *head)
        if form < 0.75:
            return (next(self._spare), *head)
        return tuple(next(self._spare) for _ in range(1 + int(2 * next(self._chances))))

    def _take_new(self, name: int) -> None:
        text = " ".join(self._words[number] for number in self.words_of[name])
        if text in self._taken:  # another entity has it: one more word tells them apart
            self.words_of[name] = (next(self._spare), *self.words_of[name])
            return self._take_new(name)
        return self._take(text, opaque=False)

    def _take_variant(self, name: int) -> None:
        words = [self._words[number] for number in self.words_of[name]]
        first = next(self._kinds)
        if next(self._chances) < 0.12 and KINDS[first] != "plural":  # two changes at once
            words[-1] = _plural(words[-1])
        for turn in range(len(KINDS)):
            kind = KINDS[(first + turn) % len(KINDS)]
            text = _variant(words, kind, next(self._chances))
            if text.lower() not in self._taken:
                return self._take(text, opaque=kind == "initials")
        extra = self._words[next(self._spare)]
        while (text := " ".join((*words, extra))) in self._taken:
            extra = self._words[next(self._spare)]
        return self._take(text, opaque=False)

    def _take(self, text: str, *, opaque: bool) -> None:
        self._taken.add(text.lower() if opaque else text)
        self.surfaces.append(text)
        self.opaque.append(opaque)


def _variant(words: Sequence[str], kind: str, chance: float) -> str:
    """Another form of a name; where a kind is not possible, the name as it is."""
    text = " ".join(words)
    *rest, last = words
    if kind == "spelling":
        fitting = [(old, new) for old, new in SPELLINGS if old in text]
        if fitting:
            text = text.replace(*fitting[int(chance * len(fitting))])
    elif kind == "plural":
        text = " ".join((*rest, _plural(last)))
    elif kind == "joined" and rest:
        text = " ".join((*words[:-2], f"{words[-2]}{'-' if chance < 0.7 else ''}{last}"))
    elif kind == "comma" and rest:
        text = f"{last}, {' '.join(rest)}"
    elif kind == "of" and rest:
        text = f"{last} of {' '.join(rest)}"
    elif kind == "slip" and len(text) > 4:
        place = 1 + int(chance * (len(text) - 2))
        text = text[:place] + text[place + 1 :]
    elif kind == "initials":
        letters = "".join(word[0] for word in text.split())
        text = (letters if len(letters) > 1 else text[:3]).upper()
        if chance < 0.3:
            text += last[1]
    return text


def _plural(word: str) -> str:
    return f"{word}es" if word.endswith(("s", "x", "z", "h")) else f"{word}s"


def _endless(more: Any) -> Iterator[Any]:
    while True:
        yield from more()


# --- Vectors ---


def _corpus_vectors(
    entity: Numbers, family: Numbers, name: Numbers, rarity: Floats, seed: int
) -> Floats:
    """Where a term is used: (terms, CORPUS); zeros for some of the rarest.

    Some directions tell how a term is written about rather than what it means. They and the mean
    of all vectors are the same for every seed: they belong to the process.
    """
    always = np.random.default_rng(0)
    mean = 0.5 * always.standard_normal(CORPUS)
    manner = np.ones(CORPUS)
    manner[:8] = 2.5
    meaning = _meanings(family, CORPUS, np.random.default_rng([seed, 6]), near=0.5)
    usage = np.random.default_rng([seed, 7]).standard_normal(
        (int(name.max()) + 1, CORPUS), np.float32
    )
    chance = np.random.default_rng([seed, 8])
    table = np.empty((len(entity), CORPUS), np.float32)
    for start in range(0, len(entity), ROWS):
        part = slice(start, start + ROWS)
        rare = rarity[part, None]
        noise = chance.standard_normal((len(rare), CORPUS), np.float32) * manner
        table[part] = meaning[entity[part]] + 0.3 * usage[name[part]]
        table[part] += (0.2 + 0.5 * rare**2) * noise + mean
    table[chance.random(len(table)) < 0.3 * rarity**4] = 0
    return table


def _encoder_vectors(
    entity: Numbers, family: Numbers, names: _Names, lexicon: _Lexicon, seed: int
) -> Floats:
    """What an encoder of strings makes of them: (terms, ENCODER)."""
    meaning = _meanings(family, ENCODER, np.random.default_rng([seed, 9]), near=0.6)
    chance = np.random.default_rng([seed, 10])
    longest = max(map(len, names.words_of))
    padded = np.array([(*w, *[-1] * (longest - len(w))) for w in names.words_of], np.int32)
    known = chance.random(len(padded), np.float32)[:, None]  # how much it has read of a name
    opaque = np.array(names.opaque)
    table = np.empty((len(entity), ENCODER), np.float32)
    for start in range(0, len(entity), ROWS):
        part = slice(start, start + ROWS)
        name = names.name_of[part]
        words = np.zeros((len(name), ENCODER), np.float32)
        for column in padded[name].T:
            there = column >= 0
            words[there] += lexicon.vectors[column[there]]
        noise = chance.standard_normal((2, *words.shape), np.float32)
        words[opaque[part]] = noise[0][opaque[part]]
        table[part] = unit_rows(words) * np.sqrt(np.float32(ENCODER))
        table[part] += 0.8 * known[name] * meaning[entity[part]] + 0.35 * noise[1]
    return table


def _meanings(
    family: Numbers, dimension: int, chance: np.random.Generator, *, near: float
) -> Floats:
    """A vector for each entity: (entities, dimension); the cosine of siblings is about `near`."""
    centres = chance.standard_normal((int(family[-1]) + 1, dimension), np.float32)
    own = chance.standard_normal((len(family), dimension), np.float32)
    own *= np.float32(np.sqrt(1 - near))
    own += np.float32(np.sqrt(near)) * centres[family]
    return own
