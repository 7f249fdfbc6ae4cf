"""DBpedia Spotlight as a linker."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args
from urllib.parse import unquote

from synsetmine.errors import (
    DataError,
    ErrorCounts,
    SynsetmineError,
    import_extra,
    require,
    shorten,
)
from synsetmine.io.downloads import is_web_address, redact
from synsetmine.linking.service import (
    AnswerCache,
    NonsenseError,
    Question,
    RefusedError,
    Service,
    cache_error,
    open_cache,
)
from synsetmine.types import Document, Mention

NOT_A_RESOURCE = "a resource without address, surface or offset"
NO_ENTITY = "not the address of an entity"
ELSEWHERE = "the surface is not at its offset"

# The service straightens apostrophes, and where XML is on its way, line ends and tabs are blanks.
_ALIKE = str.maketrans("’\n\t", "'  ")


@dataclass(frozen=True)
class Annotation:
    """The mentions in a text, by the addresses of their entities, and the resources left out."""

    mentions: tuple[Mention, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()  # (problem, resource)

    def to_json(self) -> str:
        rows = [[m.start, m.end, m.entity] for m in self.mentions]
        return json.dumps({"mentions": rows, "broken": self.broken}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Annotation:
        """The inverse of `to_json`; a ValueError for anything else."""
        try:
            stored = json.loads(text)
            mentions = tuple(Mention(*row) for row in stored["mentions"])
            return cls(mentions, tuple((problem, value) for problem, value in stored["broken"]))
        except (TypeError, LookupError, RecursionError) as error:
            raise ValueError("not an annotation") from error


def read_annotation(body: bytes, text: str) -> Annotation:
    """Read an answer about `text`; one that is none raises a DataError.

    Offsets are those of Java, in UTF-16 units. Where the text makes that differ from characters,
    the count that more of the answer agrees with is taken.
    """
    resources = _resources(body)
    units = [0, *accumulate(2 if char > "\uffff" else 1 for char in text)]
    offset_of = {unit: offset for offset, unit in enumerate(units)}
    as_utf16 = _place_resources(resources, text, offset_of)
    if units[-1] == len(text):
        return as_utf16
    as_characters = _place_resources(
        resources, text, {offset: offset for offset in range(len(text) + 1)}
    )
    return max(as_utf16, as_characters, key=lambda annotation: len(annotation.mentions))


def title_of(uri: str) -> str:
    """The title of the Wikipedia article that an address of DBpedia is about, if any.

    >>> title_of("http://dbpedia.org/resource/Fran%C3%A7ois_Truffaut")
    'François Truffaut'
    """
    name = unquote(uri.partition("/resource/")[2], errors="strict")
    return " ".join(name.replace("_", " ").split())


def _resources(body: bytes) -> list[object]:
    try:
        # Numbers stay as they are written: a surface such as 1.10 may come without quotes.
        answer: Any = json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise DataError("an answer that is not JSON") from error
    # Without the text it is an answer to something else, perhaps the notice of an error.
    if not isinstance(answer, dict) or "@text" not in answer:
        raise DataError("an answer in another format")
    resources = answer.get("Resources", [])
    if not isinstance(resources, list):
        raise DataError("an answer in another format")
    return resources


def _place_resources(resources: list[object], text: str, place_of: dict[int, int]) -> Annotation:
    alike = text.translate(_ALIKE)
    mentions: dict[Mention, None] = {}
    broken: list[tuple[str, str]] = []
    for resource in resources:
        try:
            mentions[_mention(resource, alike, place_of)] = None
        except DataError as error:
            redact = shorten(json.dumps(resource, ensure_ascii=True))
            broken.append((error.problem, redact))
    ordered = sorted(mentions, key=lambda mention: (mention.start, mention.end))
    return Annotation(tuple(ordered), tuple(broken))


def _mention(resource: object, text: str, place_of: dict[int, int]) -> Mention:
    match resource:
        case {"@URI": str(uri), "@surfaceForm": str(surface), "@offset": str(offset)} if surface:
            pass
        case _:
            raise DataError(NOT_A_RESOURCE)
    if not _is_entity(uri):
        raise DataError(NO_ENTITY)
    start = place_of.get(int(offset)) if re.fullmatch("[0-9]{1,12}", offset) else None
    if start is None or not text.startswith(surface.translate(_ALIKE), start):
        raise DataError(ELSEWHERE)
    return Mention(start, start + len(surface), uri)


def _is_entity(uri: str) -> bool:
    try:
        uri.encode()
        return bool(title_of(uri)) and not any(map(str.isspace, uri))
    except UnicodeError:
        return False


Entities = Literal["title", "uri"]

LONGEST = 8_000  # characters of text in one request
REFUSED = "the service refused this text"

# Where a long text is cut, best first: paragraphs, sentences, words.
_ENDS = [re.compile(end) for end in (r"\n\s*\n", r"[.!?…。！？][\"'”’)\]]*\s+|[。！？]", r"\s+")]
# Characters that the service's XML cannot hold, and halves of characters, which UTF-8 cannot.
_UNSENDABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class SpotlightLinker:
    """Links with a DBpedia Spotlight service; a cache stores its answers.

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
        require(0 <= confidence <= 1, "confidence must be between 0 and 1", confidence)
        require(support >= 0, "support must be 0 or more", support)
        require(entities in get_args(Entities), "entities must be 'title' or 'uri'", entities)
        require(concurrency >= 1, "concurrency must be 1 or more", concurrency)
        require(0 <= per_second < math.inf, "per_second must be 0 or more", per_second)
        require(0 < timeout < math.inf, "timeout must be more than 0 seconds", timeout)
        require(retries >= 0, "retries must be 0 or more", retries)
        require(0 <= backoff < math.inf, "backoff must be 0 seconds or more", backoff)
        import_extra("httpx", "the Spotlight linker", "spotlight")
        self.skipped = ErrorCounts()
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
        document_of = {
            text: document.id
            for document, parts in cut
            for _, text in parts
            if any(map(str.isalnum, text))  # the service refuses empty texts
        }
        answers = self._answers(document_of)
        linked: list[tuple[Mention, ...]] = []
        for document, parts in cut:
            mentions: list[Mention] = []
            for offset, text in parts:
                annotation = answers.get(text, Annotation())
                mentions.extend(self._shift(mention, offset) for mention in annotation.mentions)
                for problem, value in annotation.broken:
                    self.skipped.append(DataError(problem, value=f"{document.id}: {value}"))
            linked.append(tuple(mentions))
        return linked

    def _answers(self, document_of: Mapping[str, str]) -> dict[str, Annotation]:
        """Each text's annotation; `asked` names the document of each text."""
        opened: AbstractContextManager[AnswerCache | None] = (
            nullcontext() if self._cache is None else open_cache(self._cache)
        )
        with opened as cache:
            answers = {} if cache is None else self._read_cache(cache, document_of)
            missing = [text for text in document_of if text not in answers]
            if missing:
                new = self._ask([(text, document_of[text]) for text in missing], cache)
                answers.update(zip(missing, new, strict=True))
        return answers

    def _read_cache(self, cache: AnswerCache, texts: Mapping[str, str]) -> dict[str, Annotation]:
        key_of = {text: self._key(text) for text in texts}
        stored = cache.get(key_of.values())
        try:
            return {
                text: Annotation.from_json(stored[key])
                for text, key in key_of.items()
                if key in stored
            }
        except ValueError as error:
            raise cache_error(cache.path, error) from error

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

        def on_failure(error: SynsetmineError) -> Annotation:
            if not isinstance(error, RefusedError) or not self._skip_refused:
                raise error
            return Annotation(broken=((REFUSED, error.what),))

        questions = [
            Question(f"document {name!r}", {"text": text} | self._settings) for text, name in texts
        ]
        try:
            return self._service.ask(questions, read, on_failure=on_failure)
        except RefusedError as error:
            advice = "skip_refused=True leaves such texts out"
            raise SynsetmineError(f"{error}; {advice}; {self._cache_hint()}") from error
        except DataError:  # of the cache
            raise
        except SynsetmineError as error:
            raise SynsetmineError(f"{error}; {self._cache_hint()}") from error

    def _cache_hint(self) -> str:
        if self._cache is None:
            return "the answers so far are lost; a cache would keep them"
        return f"the answers so far are in {self._cache}; run the same command again to continue"

    def _key(self, text: str) -> str:
        question = {"url": redact(self._address), "text": text} | self._settings
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()

    def _shift(self, mention: Mention, offset: int) -> Mention:
        """A mention of a piece as one of its document."""
        entity = mention.entity if self._entities == "uri" else title_of(mention.entity)
        return Mention(mention.start + offset, mention.end + offset, entity)

    def __reduce__(self) -> NoReturn:
        # In each of several processes it would keep its limits, and all together would not.
        raise SynsetmineError(
            "the Spotlight linker runs in one process only; use one worker, and `concurrency`"
        )


def _check_url(url: str) -> None:
    if not is_web_address(url) or re.search(r"[?#\s]", url):
        problem = "the url must be the http(s) address of a service, without ? and #"
        raise DataError(problem, value=redact(url))


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
