"""Which of the known terms a text means."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process

from synsetmine.errors import DataError
from synsetmine.text import normal_form
from synsetmine.types import Term
from synsetmine.web.questions import Problem

SHOWN = 5
LOOKED_AT = 500  # terms that may be meant by one that is unknown
ALIKE = 75  # of 100


class Meanings:
    """Finds terms as they are written, by their surface, or by their normal form."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms = dict.fromkeys(terms)
        self._by_surface: dict[str, list[Term]] = {}
        self._by_form: dict[str, list[Term]] = {}
        self._forms_with: dict[str, list[str]] = {}  # by word, and by the first letters
        for term in self._terms:
            self._by_surface.setdefault(term.surface, []).append(term)
            form = normal_form(term.surface)
            if form not in self._by_form:
                for part in _parts(form):
                    self._forms_with.setdefault(part, []).append(form)
            self._by_form.setdefault(form, []).append(term)

    def __contains__(self, term: object) -> bool:
        return term in self._terms

    def find(self, text: str) -> Term:
        """The only term that a text can mean; none and several are a problem."""
        try:
            written = Term.parse(text)
        except DataError as error:
            raise Problem(400, "wrong_value", str(error), term=text) from None
        if written in self._terms:
            return written
        found: list[Term] = []
        if not written.sense:
            found = self._by_surface.get(text) or self._by_form.get(normal_form(text)) or []
        if len(found) == 1:
            return found[0]
        if found:
            near = sorted(map(str, found))[:SHOWN]
            message = f"{text!r} may mean {len(found)} terms: {', '.join(near)}"
            raise Problem(409, "ambiguous_term", message, term=text, near=near)
        near = self._near(text)
        hint = f"; there is {', '.join(near)}" if near else ""
        raise Problem(404, "unknown_term", f"there is no term {text!r}{hint}", term=text, near=near)

    def _near(self, text: str) -> list[str]:
        """Terms that are written much like a text, of those that share a word or their start."""
        form = normal_form(text)
        candidates: dict[str, None] = {}
        # Rare words first: they say most.
        for part in sorted(_parts(form), key=lambda part: len(self._forms_with.get(part, ()))):
            candidates.update(dict.fromkeys(self._forms_with.get(part, ())[:LOOKED_AT]))
            if len(candidates) >= LOOKED_AT:
                break
        alike = process.extract(
            form, list(candidates), scorer=fuzz.ratio, limit=SHOWN, score_cutoff=ALIKE
        )
        return [str(self._by_form[found][0]) for found, _, _ in alike]


def _parts(form: str) -> set[str]:
    return {*form.split(), f"^{form[:3].casefold()}"}
