"""Example sentences for terms, from one pass over the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from synsetmine.sentences import Sentence, sentence_around


class Found(Protocol):
    """Where names were found: four arrays, one entry a match."""

    @property
    def text(self) -> npt.NDArray[np.integer[Any]]: ...  # the number of the text

    @property
    def start(self) -> npt.NDArray[np.integer[Any]]: ...

    @property
    def end(self) -> npt.NDArray[np.integer[Any]]: ...

    @property
    def form(self) -> npt.NDArray[np.integer[Any]]: ...  # the number of the form


class Finder(Protocol):
    """What finds names in texts: a `NameMatcher` built from the same forms."""

    def find(self, texts: Sequence[str], /) -> Found: ...


def find_sentences(
    batches: Iterable[Sequence[tuple[str, str]]],
    forms: Sequence[str],
    matcher: Finder,
    *,
    per_term: int = 3,
    longest: int = 300,
) -> dict[str, list[Sentence]]:
    """Up to `per_term` sentences for each form, from as many different documents as there are.

    A batch is a list of (document, text). The corpus is read only as far as needed, and only the
    sentences that are returned are held. Longer ones than `longest` are cut around the term.
    """
    examples = [_Examples(per_term) for _ in forms]
    wanted = np.full(len(forms), per_term > 0)  # (forms,)
    if not wanted.any():
        return {}
    for batch in batches:
        found = matcher.find([text for _, text in batch])
        for i in np.flatnonzero(wanted[found.form]):
            form = int(found.form[i])
            if not wanted[form]:  # an earlier match of this batch was the last one needed
                continue
            document, text = batch[int(found.text[i])]
            start, end = int(found.start[i]), int(found.end[i])
            examples[form].offer(sentence_around(document, text, start, end, longest))
            wanted[form] = not examples[form].enough
        if not wanted.any():
            break
    return {form: kept.sentences for form, kept in zip(forms, examples, strict=True) if kept}


@dataclass(slots=True)
class _Examples:
    """The sentences kept for one term."""

    most: int
    sentences: list[Sentence] = field(default_factory=list)

    @property
    def enough(self) -> bool:
        return len({sentence.document for sentence in self.sentences}) >= self.most

    def __bool__(self) -> bool:
        return bool(self.sentences)

    def offer(self, sentence: Sentence) -> None:
        """Keep the sentence if there is room, or if it brings in another document."""
        if any(sentence.text == kept.text for kept in self.sentences):
            return
        if len(self.sentences) < self.most:
            self.sentences.append(sentence)
            return
        seen: set[str] = {sentence.document}
        for i, kept in enumerate(self.sentences):
            if kept.document in seen:
                if kept.document != sentence.document:
                    self.sentences[i] = sentence
                return
            seen.add(kept.document)
