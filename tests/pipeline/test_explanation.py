"""Why two names are one thing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.normalization import name_key, tokens
from synsetmine.pipeline.explanation import Explanation, explain, find_evidence, shared_words
from synsetmine.pipeline.grouping import group
from synsetmine.types import Progress, Term
from synsetmine.views import TermViews
from tests.support.namemodels import PreparedWords, WordModel


class ContextModel(WordModel):
    """Like its parent, but two names whose contexts begin with one word are surely one thing."""

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        device: str | None = None,
        workers: int = 1,
        exact: int | None = None,
        progress: Progress | None = None,
    ) -> PreparedWords:
        prepared = super().prepare(vocabulary, views)
        return prepared if views.contexts is None else _InContext(prepared.terms, views)


class _InContext(PreparedWords):
    def __init__(self, terms: tuple[Term, ...], views: TermViews) -> None:
        super().__init__(terms)
        self._contexts = views.contexts or {}

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]:
        first = {self._contexts[member][0].split()[0] for member in members}
        return [float(self._contexts[term][0].split()[0] in first) for term in terms]


def test_the_kind_and_the_probability_are_those_of_grouping() -> None:
    listed = ["heart failure", "Failure, Heart", "lung cancer"]
    why = explain(listed[0], listed[1], among=listed)
    (name_set,) = group(listed).sets
    assert why.kind == "word-order"
    assert why.relation == "exact"
    assert why.probability == why.names_probability
    assert why.probability == pytest.approx(name_set.probability)
    assert why.context_log_odds is None
    assert why.encoder_similarity is None
    assert explain("lung cancer", "heart failure").probability < 0.1
    assert explain("acute heart failure", "heart failure").relation == "narrow"


def test_contexts_add_log_odds_to_those_of_the_names() -> None:
    model = ContextModel()
    why = explain("big apple", "apple", contexts="big city", other_contexts="a fruit", model=model)
    assert why.names_probability == 0.5
    assert why.probability == 0
    assert why.context_log_odds == pytest.approx(-9.21, abs=0.01)
    why = explain("New York", "apple", contexts="a city", other_contexts="a place", model=model)
    assert why.names_probability == 0
    assert why.probability == 1
    without = explain("big apple", "apple", contexts="a city", model=model)
    assert without.probability == without.names_probability == 0.5
    assert without.context_log_odds is None


def test_names_of_two_types_are_two_things() -> None:
    why = explain("Jordan", "Jordan", types=("country", "Person"))
    assert why.probability == 0
    assert why.names_probability == 1
    assert why.types == ("country", "Person")
    assert explain("Jordan", "jordan", types=("Country", "country ")).probability == 1


@pytest.mark.parametrize(
    ("name", "other", "contexts", "statement", "sentence"),
    [
        (
            "MI",
            "myocardial infarction",
            ["It is late. A myocardial  infarction (MI) came. He left."],
            "abbreviation",
            "A myocardial infarction (MI) came.",
        ),
        (
            "Byzantium",
            "Istanbul",
            ["Istanbul and Byzantium fell.", "We saw Istanbul, formerly Byzantium, again."],
            "alias",
            "We saw Istanbul, formerly Byzantium, again.",
        ),
        ("lung", "heart", ["The heart and lung fail."], "conjunction", "The heart and lung fail."),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_sentence_that_states_what_the_names_are(
    name: str, other: str, contexts: list[str], statement: str, sentence: str, turned: bool
) -> None:
    texts = ([], contexts) if turned else (contexts, [])
    assert find_evidence(name, other, *texts) == (statement, sentence, "")


def test_the_sentences_most_alike_are_shown() -> None:
    why = explain(
        "heart attack",
        "myocardial infarction",
        contexts="He is old. The heart attack blocked an artery of the patient. It was late.",
        other_contexts=["Nobody knew the patient.", "Blocked arteries mean infarction, patients!"],
    )
    assert why.sentence == "The heart attack blocked an artery of the patient."
    assert why.other_sentence == "Blocked arteries mean infarction, patients!"
    assert why.statement is None
    assert set(why.shared_words) == {"blocked", "artery", "patient"}


def test_rare_words_come_first() -> None:
    counts = {"patient": 9, "enzym": 1}
    shared = shared_words("a", "b", ["patients lack enzymes"], ["enzyme of patient"], counts=counts)
    assert shared == ("enzymes", "patients")


@pytest.mark.parametrize("name", ["", " ", "x" * 10_001])
def test_a_name_that_cannot_be_judged_is_an_error(name: str) -> None:
    with pytest.raises(DataError, match="expected a name of 1 to 10,000 characters"):
        explain(name, "heart")


def test_a_context_must_be_text() -> None:
    with pytest.raises(DataError, match="a context must be a string"):
        explain("a", "b", contexts=[3])  # type: ignore[list-item]


texts = st.lists(st.text(max_size=40), max_size=3)
words = st.text(min_size=1, max_size=12).filter(lambda text: name_key(text) != "")


@given(words, words, texts, texts)
@settings(max_examples=30)
def test_any_pair_has_an_explanation(
    name: str, other: str, contexts: list[str], other_contexts: list[str]
) -> None:
    model = WordModel()
    why = explain(name, other, contexts=contexts, other_contexts=other_contexts, model=model)
    turned = explain(other, name, contexts=other_contexts, other_contexts=contexts, model=model)
    assert isinstance(why, Explanation)
    assert set(why.shared_words) <= {word for text in contexts for word in tokens(text)}
    assert (why.probability, why.kind, why.statement) == (
        turned.probability,
        turned.kind,
        turned.statement,
    )


@pytest.mark.parametrize(
    ("name", "other"),
    [("iPhone 12", "iPhone 13"), ("George Bush Jr.", "George Bush Sr."), ("Henry IV", "Henry V")],
)
def test_contexts_do_not_raise_names_that_number_two_things(name: str, other: str) -> None:
    text = "A well known one of them, which many people have seen in the news of the year."
    why = explain(name, other, contexts=text, other_contexts=text)
    assert why.probability <= why.names_probability + 1e-6
    same = explain(name, f"the {name}", contexts=text, other_contexts=text)
    assert same.probability > 0.5


def test_the_probability_of_a_pair_alone_is_marked() -> None:
    assert "of the pair alone" in repr(explain("iPhone 12", "iPhone 13"))
    among = explain("iPhone 12", "iPhone 13", among=["iPhone 14", "iPhone 12"])
    assert not among.pair_alone
    assert "alone" not in repr(among)
