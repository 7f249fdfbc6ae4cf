"""Which frequent phrases could be the name of a thing: noun phrases with sound borders.

A logistic regression over the counts of a phrase in a corpus: how its words hold together, which
kinds of words occur left and right of it, and of its first and its last word anywhere, how it is
written, and how its words end. A name comes after "the" or "of" and before "is" or a comma;
"results indicate" comes before "that"; "relatively" comes before "high" and "low".

The weights are learned once, from known names and read phrases of two unlike corpora of English
(`experiments/candidates.py`). They know no names, so that the names of a knowledge base are
unseen examples: `threshold_for` lowers the threshold where too many of those would go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from synsetmine.normalization import fold
from synsetmine.text.tokens import word_set

THRESHOLD = 0.7  # of phrases at or above it, more than nine in ten are names
LOWEST_THRESHOLD = 0.3  # where the names of a knowledge base look unlike those of others
KEPT_NAMES = 0.94  # the share of known names that the threshold keeps
FEWEST_NAMES = 50  # known names that say something about the threshold
LEAST_ENGLISH = 0.25  # share of function words next to phrases; other languages have .03 to .12
SMOOTHING = 3.0  # occurrences that the average context counts as

CLASSES = {  # of the words and signs next to a phrase; a word belongs to the first that has it
    "other": "",
    "capitalised": "",
    "end": ". ; : ! ? \1",
    "comma": ",",
    "opening bracket": "( [",
    "closing bracket": ") ]",
    "hyphen": "' \u2019 \u2010 \u2011 \u2012 \u2013 -",
    "sign": "",
    "number": "",
    "determiner": "a an the this these those each every any no another such same both",
    "possessive": "its their his her our my your whose s",
    "of": "of",
    "preposition": """about above across after against along among amongst around as at before
        behind below beneath beside besides between beyond by despite down during except for from
        in inside into like near off on onto out outside over per since than through throughout
        toward towards under until up upon using versus via vs with within without""",
    "and": "and",
    "or": "or nor",
    "to": "to",
    "be": "am are be been being is was were",
    "have": "had has have having",
    "modal": "can cannot could did do does may might must shall should will would not",
    "that": "that whether if",
    "relative": "which who whom where when what how why",
    "conjunction": """although because but however so then therefore though thus unless while
        whereas""",
    "pronoun": "he i it she there they we you him me them us one",
    "quantifier": """all few fewer less many more most much other others several some two three
        four five six seven eight nine ten various different first second""",
    "adverb": """almost already also always especially even ever further generally highly never
        now often only quite rather relatively significantly still too usually very well yet""",
    "participle": """became found used made known called considered given observed studied seen
        shown""",
}
_NUMBER_OF = {name: number for number, name in enumerate(CLASSES)}
_CLASS_OF = {
    word: _NUMBER_OF[name]
    for name, words in reversed(CLASSES.items())
    for word in words.split(" ")
    if word.strip()
}
END = _NUMBER_OF["end"]
_FIRST_WORDS = _NUMBER_OF["determiner"]  # from here on the classes are function words


# Words that start many noun phrases but few names, and words that end them.
_VAGUE_FIRST = word_set(
    """
    first second third fourth fifth sixth last next previous present current recent new old early
    late later earlier good better best poor bad worse high higher highest low lower lowest large
    larger largest small smaller smallest great greater greatest big long longer longest short
    shorter shortest same different similar various certain particular specific significant
    important major minor main principal general common possible potential likely able unable
    increased increasing decreased decreasing reduced marked strong weak rapid slow simple
    complete total whole entire single double additional further relative considerable close
    clear actual real true correct successful preliminary initial final eventual immediate
    separate individual own full influential neighbouring one two three four five six seven eight
    nine ten eleven twelve twenty thirty forty fifty hundred thousand million billion half year
    years month months week weeks day days hour hours minute minutes time times results result
    data study studies patients method methods evidence number
    """
)
_VAGUE_LAST = word_set(
    """
    number numbers amount amounts level levels way ways case cases result results effect effects
    use increase decrease increases decreases change changes study studies report reports evidence
    attention part parts kind kinds type types sort form forms example examples value values year
    years month months week weeks day days hour hours minute minutes time times period periods
    group groups majority variety difference differences reason reasons point points fact facts
    thing things people person men women name names degree extent presence absence basis role
    importance conclusion conclusions finding findings feature features ones purposes high higher
    low lower large larger small smaller long longer short shorter different similar important
    significant common known available able possible likely later earlier early late ago
    """
)
_VERBS = word_set(
    """
    include includes included indicate indicates indicated suggest suggests suggested show shows
    showed shown recommend recommends recommended require requires required provide provides
    provided contain contains contained produce produces produced occur occurs occurred cause
    causes caused make makes made take takes took taken give gives gave given become becomes
    became begin begins began begun call calls called find finds found know knows knew known see
    sees saw seen say says said write writes wrote written play plays played leave leaves left
    lead leads led live lives lived die dies died win wins won send sends sent note notes noted
    claim claims claimed argue argues argued describe describes described remain remains remained
    declare declares declared differ differs depend depends follow follows followed appear appears
    appeared allow allows allowed involve involves involved obtain obtained receive received use
    used using perform performed compare compared treat treated born based associated according
    """
)
_SUFFIXES = tuple(
    re.findall(
        r"\w+",
        """
    ly ed ing tion sion ment ness ity ism ist sis al ic ous ive able ible ary ory ent ant ar ful
    less er or est ate ize ise ase in ine ide oma itis logy phy ure age ance ence ship hood dom th
    ns es ss us s
""",
    )
)
_VERBAL = word_set("to is was are were be been has had have that which not who")
_PREPOSITIONS = word_set("in for with on by from at as into")
_WORD = re.compile(r"[^\W_]+")
_UNITS = ("phrase", "first word", "last word")
_SIDES = ("left", "right")
_STATISTICS = (
    "cohesion",
    "share in a longer phrase",
    "log count",
    "share before other words",
    "share before other words, one hyphenated word",
    "share after capitalised words, all capitalised",
    "share before capitalised words, all capitalised",
)


@dataclass(frozen=True, eq=False)
class PhraseCounts:
    """The counts of the frequent phrases of a corpus: one entry of the arrays for each."""

    surfaces: Sequence[str]  # the usual spelling
    forms: Sequence[str]
    counts: NDArray[np.int64]
    cohesion: NDArray[np.float64]  # at the weakest cut
    longer: NDArray[np.int64]  # count of the most frequent phrase of one more token around it
    contexts: NDArray[np.int64]  # (phrases, 3, 2, classes): of phrase, first and last word;
    #                              left and right of it

    def __len__(self) -> int:
        return len(self.forms)

    def take(self, numbers: NDArray[np.int64]) -> PhraseCounts:
        """The phrases with these numbers only."""
        return PhraseCounts(
            surfaces=[self.surfaces[number] for number in numbers],
            forms=[self.forms[number] for number in numbers],
            counts=self.counts[numbers],
            cohesion=self.cohesion[numbers],
            longer=self.longer[numbers],
            contexts=self.contexts[numbers],
        )


class _Weights(NamedTuple):
    bias: float
    values: NDArray[np.float64]  # (features,)
    background: NDArray[np.float64]  # (3, 2, classes): shares of the classes over all phrases


def name_probabilities(counts: PhraseCounts) -> NDArray[np.float64]:
    """The probability of each phrase that it could be the name of a thing.

    It is 1 where the words next to the phrases are not those of English text.
    """
    if not _is_english(counts):
        return np.ones(len(counts))
    bias, values, background = _weights()
    from scipy.special import expit  # reading a corpus needs no scipy

    return expit(name_features(counts, background) @ values + bias)


def threshold_for(probabilities: NDArray[np.float64], is_known: NDArray[np.bool_]) -> float:
    """The threshold that keeps most of the known names, between the lowest and the usual one."""
    if np.count_nonzero(is_known) < FEWEST_NAMES:
        return THRESHOLD
    kept = float(np.quantile(probabilities[is_known], 1 - KEPT_NAMES))
    return min(max(kept, LOWEST_THRESHOLD), THRESHOLD)


def _is_english(counts: PhraseCounts) -> bool:
    of_class = counts.contexts[:, 0].sum(axis=(0, 1))  # (classes,)
    return bool(of_class[_FIRST_WORDS:].sum() >= LEAST_ENGLISH * max(of_class.sum(), 1))


@lru_cache(maxsize=1 << 17)
def context_class(part: str) -> int:
    """The class of a word, a number or a sign, as a position in `CLASSES`."""
    word = fold(part)
    if not part[0].isalnum():
        return _CLASS_OF.get(word, _NUMBER_OF["sign"]) if part.strip() else END
    kind = "number" if part[0].isdecimal() else "capitalised" if part[0].isupper() else "other"
    return _CLASS_OF.get(word, _NUMBER_OF[kind])


def feature_names() -> list[str]:
    contexts = [f"{unit}, {side}: {name}" for unit in _UNITS for side in _SIDES for name in CLASSES]
    words = [f"-{suffix}" for suffix in _SUFFIXES] + ["short", "digit", "length"]
    endings = [f"{unit}: {word}" for unit in _UNITS[1:] for word in words]
    return [*contexts, *endings, *_shape("a b", ["a", "b"]), *_STATISTICS]


def name_features(
    counts: PhraseCounts, background: NDArray[np.float64]
) -> NDArray[np.float64]:  # (phrases, features)
    """The features in the order of `feature_names`.

    Those of contexts are roots of shares: a class that is seen c times among n has
    sqrt((c + s b) / (n + s)), where b is its share in the background and s the smoothing.
    """
    size = len(counts)
    total = counts.contexts.sum(axis=-1, keepdims=True)  # (phrases, 3, 2, 1)
    shares = np.sqrt((counts.contexts + SMOOTHING * background) / (total + SMOOTHING))
    words = [form.split(" ") for form in counts.forms]
    borders = {word for parts in words for word in (parts[0], parts[-1])}
    endings = {word: _endings(word) for word in borders}
    ends = [[endings[parts[0]], endings[parts[-1]]] for parts in words]
    rows = [*map(_shape, counts.surfaces, words)]
    shapes = np.array([[*row.values()] for row in rows], float)
    is_proper = np.array([row["all capitalised"] for row in rows], float)
    is_hyphenated = np.array([row["one hyphenated word"] for row in rows], float)
    seen = counts.contexts[:, 0] / np.maximum(total[:, 0], 1)  # (phrases, 2, classes)
    beside_capitals = seen[:, :, _NUMBER_OF["capitalised"]]  # (phrases, 2)
    before_other = seen[:, 1, _NUMBER_OF["other"]] + beside_capitals[:, 1]
    statistics = [
        counts.cohesion,
        counts.longer / counts.counts,
        np.log(counts.counts),
        before_other,
        before_other * is_hyphenated,
        *(beside_capitals.T * is_proper),
    ]
    return np.hstack(
        [
            shares.reshape(size, background.size),
            np.array(ends, float).reshape(size, 2 * (len(_SUFFIXES) + 3)),
            shapes.reshape(size, -1),
            np.stack(statistics, axis=1),
        ]
    )


def _endings(word: str) -> list[float]:
    """Which suffix it has, whether it is short or starts with a digit, and its length."""
    length = len(word)
    suffix = None
    if word.endswith(_SUFFIXES):
        suffix = next((s for s in _SUFFIXES if word.endswith(s) and length > len(s) + 2), None)
    is_suffix = [float(suffix == other) for other in _SUFFIXES]
    return [*is_suffix, length <= 2, word[0].isdecimal(), min(length, 12) / 12]


def _shape(surface: str, words: Sequence[str]) -> dict[str, float]:
    """How it is written and what it contains."""
    inner = frozenset(words[1:-1])
    written = _WORD.findall(surface)
    functional = sum(word in _CLASS_OF for word in words[1:-1])
    capitalised = [word[0].isupper() or fold(word) in _CLASS_OF for word in written]
    vague = words[0] in _VAGUE_FIRST, words[-1] in _VAGUE_LAST
    is_letter = len(written[-1]) == 1
    return {
        "two words": len(words) == 2,
        "three words": len(words) == 3,
        "four words or more": len(words) >= 4,
        "function words inside": functional,
        "of inside": "of" in inner,
        "and inside": not inner.isdisjoint(("and", "or")),
        "determiner inside": not inner.isdisjoint(("the", "a", "an")),
        "verb inside": not inner.isdisjoint(_VERBAL),
        "preposition inside": not inner.isdisjoint(_PREPOSITIONS),
        "starts with capital": surface[0].isupper() and not surface.isupper(),
        "ends with capital": written[-1][0].isupper(),
        "all capitalised": all(capitalised),
        "has word in capitals": any(word.isupper() and len(word) > 1 for word in written),
        "has digit": any(map(str.isdecimal, surface)),
        "last word starts with digit": words[-1][0].isdecimal(),
        "last word is a letter": is_letter,
        "first word is a letter": len(written[0]) == 1,
        "initial of a person": is_letter and written[-1].isupper() and all(capitalised),
        "has hyphen": any(map(surface.__contains__, "-\u2010\u2011\u2012\u2013")),
        "has apostrophe": "'" in surface or "\u2019" in surface,
        "one hyphenated word": " " not in surface,
        "vague first word": vague[0],
        "vague last word": vague[1],
        "vague first and last word": all(vague),
        "first word is a verb": words[0] in _VERBS,
        "last word is a verb": words[-1] in _VERBS,
    }


@cache
def _weights() -> _Weights:
    text = resources.files("synsetmine.text").joinpath("noun_phrases.json").read_text("utf-8")
    stored = json.loads(text)
    values = np.array([stored["weights"].get(name, 0.0) for name in feature_names()])
    return _Weights(stored["bias"], values, np.array(stored["background"]))
