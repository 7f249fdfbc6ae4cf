"""Linking by DBpedia Spotlight, a web service that finds names of DBpedia's entities in texts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, NoReturn, get_args

from synsetmine.addresses import is_web_address, shown
from synsetmine.errors import DataError, Skipped, SynsetmineError, require
from synsetmine.linking.annotations import Annotation, read_annotation, title_of
from synsetmine.linking.cache import AnswerCache, damaged, open_cache
from synsetmine.linking.service import NonsenseError, Question, RefusedError, Service
from synsetmine.types import Document, Mention

Entities = Literal["title", "uri"]

LONGEST = 8_000  # characters of text in one request
REFUSED = "the service refused this text"

# Where a long text is cut, best first: paragraphs, sentences, words.
_ENDS = [re.compile(end) for end in (r"\n\s*\n", r"[.!?…。！？][\"'”’)\]]*\s+|[。！？]", r"\s+")]
# Characters that the service's XML cannot hold, and halves of characters, which UTF-8 cannot.
_UNSENDABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class SpotlightLinker:
    """Asks a DBpedia Spotlight service; what it answered is asked only once if there is a cache.

    An entity is called by its `title`, the last part of its address written as a person would
    (`http://dbpedia.org/resource/New_York_City` is `New York City`, as in Wikipedia), or by its
    `uri`, the address itself. `confidence` (0 to 1) and `support` (links in Wikipedia) are the
    least that Spotlight asks of an entity.

    Resources that make no sense are left out and counted in `skipped`. A text that the service
    refuses stops the run; with `skip_refused` its document has no mentions there, and it is
    counted too. Politeness and patience are those of `Service`.
    """

    def __init__(
        self,
        *,
        url: str = "https://api.dbpedia-spotlight.org/en",
        confidence: float = 0.5,
        support: int = 0,
        entities: Entities = "title",
        cache: str | Path | None = None,
        concurrency: int = 4,
        per_second: float = 5.0,
        timeout: float = 30.0,
        retries: int = 5,
        backoff: float = 1.0,
        skip_refused: bool = False,
        seed: int = 0,
    ) -> None:
        _check_url(url)
        require(0 <= confidence <= 1, "confidence must lie between 0 and 1", confidence)
        require(support >= 0, "support must be 0 or more", support)
        require(entities in get_args(Entities), "entities must be 'title' or 'uri'", entities)
        require(concurrency >= 1, "concurrency must be 1 or more", concurrency)
        require(0 <= per_second < math.inf, "per_second must be 0 or more", per_second)
        require(0 < timeout < math.inf, "timeout must be more than 0 seconds", timeout)
        require(retries >= 0, "retries must be 0 or more", retries)
        require(0 <= backoff < math.inf, "backoff must be 0 seconds or more", backoff)
        _check_httpx()
        self.skipped = Skipped()
        self._settings = {"confidence": f"{float(confidence)}", "support": f"{int(support)}"}
        self._address = url.rstrip("/") + "/annotate"
        self._entities = entities
        self._cache = None if cache is None else Path(cache)
        self._skip_refused = skip_refused
        self._service = Service(
            self._address,
            concurrency=concurrency,
            per_second=per_second,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            seed=seed,
        )

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        """The mentions of each document, in the order of the documents.

        After an error, what was answered so far is in the cache.
        """
        cut = [(document, list(pieces(document.text))) for document in documents]
        asked = {
            text: document.id
            for document, parts in cut
            for _, text in parts
            if any(map(str.isalnum, text))  # the service refuses empty texts
        }
        answers = self._answers(asked)
        linked: list[tuple[Mention, ...]] = []
        for document, parts in cut:
            mentions: list[Mention] = []
            for offset, text in parts:
                annotation = answers.get(text, Annotation())
                mentions.extend(self._moved(mention, offset) for mention in annotation.mentions)
                for problem, value in annotation.broken:
                    self.skipped.append(DataError(problem, value=f"{document.id}: {value}"))
            linked.append(tuple(mentions))
        return linked

    def _answers(self, asked: Mapping[str, str]) -> dict[str, Annotation]:
        """Each text's annotation; `asked` names the document of each text."""
        opened: AbstractContextManager[AnswerCache | None] = (
            nullcontext() if self._cache is None else open_cache(self._cache)
        )
        with opened as cache:
            answers = {} if cache is None else self._cached(cache, asked)
            missing = [text for text in asked if text not in answers]
            if missing:
                found = self._ask([(text, asked[text]) for text in missing], cache)
                answers.update(zip(missing, found, strict=True))
        return answers

    def _cached(self, cache: AnswerCache, texts: Mapping[str, str]) -> dict[str, Annotation]:
        key_of = {text: self._key(text) for text in texts}
        stored = cache.get(key_of.values())
        try:
            return {
                text: Annotation.from_json(stored[key])
                for text, key in key_of.items()
                if key in stored
            }
        except ValueError as error:
            raise damaged(cache.path, error) from error

    def _ask(self, texts: Sequence[tuple[str, str]], cache: AnswerCache | None) -> list[Annotation]:
        def read(number: int, body: bytes) -> Annotation:
            text, _ = texts[number]
            try:
                annotation = read_annotation(body, text)
            except DataError as error:
                raise NonsenseError(error.problem) from error
            if cache is not None:
                cache.put(self._key(text), annotation.to_json())
            return annotation

        def refused(error: RefusedError) -> Annotation:
            if not self._skip_refused:
                raise error
            return Annotation(broken=((REFUSED, error.what),))

        questions = [
            Question(f"document {name!r}", {"text": text} | self._settings) for text, name in texts
        ]
        try:
            return self._service.ask(questions, read, refused=refused)
        except RefusedError as error:
            advice = "skip_refused=True leaves such texts out"
            raise SynsetmineError(f"{error}; {advice}; {self._where_kept()}") from error
        except DataError:  # of the cache
            raise
        except SynsetmineError as error:
            raise SynsetmineError(f"{error}; {self._where_kept()}") from error

    def _where_kept(self) -> str:
        if self._cache is None:
            return "what was answered so far is lost: with a cache it would be kept"
        return f"what was answered so far is in {self._cache}, and the same command goes on there"

    def _key(self, text: str) -> str:
        question = {"url": shown(self._address), "text": text} | self._settings
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()

    def _moved(self, mention: Mention, offset: int) -> Mention:
        """A mention of a piece as one of its document."""
        entity = mention.entity if self._entities == "uri" else title_of(mention.entity)
        return Mention(mention.start + offset, mention.end + offset, entity)

    def __reduce__(self) -> NoReturn:
        # In each of several processes it would keep its limits, and all together would not.
        raise SynsetmineError(
            "the Spotlight linker works in one process only: use one worker, and `concurrency`"
        )


def _check_url(url: str) -> None:
    if not is_web_address(url) or re.search(r"[?#\s]", url):
        problem = "the url must be the http(s) address of a service, without ? and #"
        raise DataError(problem, value=shown(url))


def _check_httpx() -> None:
    try:
        import httpx  # noqa: F401
    except ImportError as error:
        raise SynsetmineError(
            "the Spotlight linker needs the extra: pip install 'synsetmine[spotlight]'"
        ) from error


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """A text as it is sent: pieces of at most `LONGEST` characters, and where each begins."""
    text = _UNSENDABLE.sub(" ", text)
    start = 0
    while start < len(text):
        end = _cut(text, start) if len(text) - start > LONGEST else len(text)
        yield start, text[start:end]
        start = end


def _cut(text: str, start: int) -> int:
    """Where the piece that begins at `start` ends; never in its first half."""
    for end in _ENDS:
        cuts = [match.end() for match in end.finditer(text, start + LONGEST // 2, start + LONGEST)]
        if cuts:
            return cuts[-1]
    return start + LONGEST
