"""A language model that decides which names mean the same: endpoint, cache and limits."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from urllib.parse import urlsplit

from synsetmine.errors import SynsetmineError, import_extra, quantity, shorten
from synsetmine.io.downloads import redact
from synsetmine.io.files import cache_root
from synsetmine.linking.service import (
    AnswerCache,
    NonsenseError,
    NotAskedError,
    Question,
    Service,
    cache_error,
    check_address,
    open_cache,
)
from synsetmine.pipeline.name_questions import (
    NameInContext,
    NameQuestion,
    Partition,
    read_partition,
)
from synsetmine.pipeline.settings import JudgeSettings
from synsetmine.types import Progress

KEY = "SYNSETMINE_JUDGE_KEY"  # the environment variable with the key of the endpoint
LARGEST = 1_000_000  # bytes of an answer
FAILURES = 3  # questions in a row; then the endpoint is left alone


class JudgedPair(NamedTuple):
    """Two names about which the model was unsure, and what the judge decided."""

    name: str
    other: str
    probability: float
    together: bool


@dataclass(frozen=True)
class JudgeReport:
    """What was asked, what was answered, and what it took."""

    judge: str
    low: float  # the probabilities that are unsure
    high: float
    settings: JudgeSettings
    questions: int = 0  # within the limits
    left_out: int = 0  # questions beyond the limits
    answered: int = 0
    cached: int = 0  # of these, without a request
    invalid: int = 0  # answers that were no partition
    failed: int = 0  # questions without an answer
    problem: str = ""  # of the first of these
    not_asked: int = 0  # after failures, or because the limits were reached
    requests: int = 0
    # As the endpoint counts them, else estimated; in a dry run the estimate for all questions that
    # are not in the cache, with the longest answers.
    tokens_in: int = 0
    tokens_out: int = 0
    together: int = 0  # decisions that names belong together
    apart: int = 0  # decisions that they do not
    pairs: tuple[JudgedPair, ...] = ()  # of a list of names, what was decided

    @property
    def cost(self) -> float | None:
        price = self.settings.price
        return None if price is None else price * (self.tokens_in + self.tokens_out) / 1e6

    @property
    def summary(self) -> str:
        """All of it on one line."""
        settings = self.settings
        parts = [
            f"{self.judge}: {quantity(self.questions, 'question')} on probabilities from "
            f"{self.low:.2f} to {self.high:.2f}"
        ]
        tokens = f"{self.tokens_in:,} tokens in and {self.tokens_out:,} out"
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        if settings.dry_run:
            parts.append(f"dry run: {self.cached} in the cache, at most about {tokens}{cost}")
        else:
            parts.append(f"{self.answered} answered ({self.cached} from the cache)")
            if self.not_asked:
                parts.append(f"{quantity(self.not_asked, 'question')} not asked")
            problems = {"invalid answer": self.invalid, "failed question": self.failed}
            parts += [quantity(count, what) for what, count in problems.items() if count]
            if self.problem:
                parts[-1] += f" (first problem: {self.problem})"
            parts.append(f"{self.together} together, {self.apart} apart")
            parts.append(f"{quantity(self.requests, 'request')}, {tokens}{cost}")
        if self.left_out:
            parts.append(
                f"{quantity(self.left_out, 'question')} beyond the limits of "
                f"{quantity(settings.calls, 'request')} and {quantity(settings.tokens, 'token')}"
            )
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"JudgeReport({self.summary})"


class Judge:
    """Asks an OpenAI-compatible endpoint which names mean the same.

    The key is sent to the endpoint's address and nowhere else, and never in clear text over a
    network.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._key = os.environ.get(KEY, "")
        is_local = check_address(settings.url, "the judge", KEY, has_key=bool(self._key))
        if not re.fullmatch(r"[!-~]*", self._key):
            raise SynsetmineError(f"{KEY} must be a key of printable ASCII characters")
        import_extra("httpx", "the judge", "judge")
        address = settings.url.rstrip("/")
        end = "/chat/completions"
        self._address = address if address.endswith(end) else address + end
        self._proxies = not is_local
        self.name = settings.model or f"language model at {urlsplit(settings.url).netloc}"

    def ask(
        self,
        questions: Sequence[Sequence[NameInContext]],
        *,
        low: float,
        high: float,
        progress: Progress | None = None,
    ) -> tuple[list[Partition | None], JudgeReport]:
        """The answer to each question, or None; the first questions are within the limits.

        The limits hold for questions whether or not the cache has their answers, so that the same
        questions get the same answers, and for requests with all repeated ones.
        """
        forms = [NameQuestion(names, self.settings.model) for names in questions]
        allowed = _within_limits(forms, self.settings)
        with self._open_cache() as cache:
            answers = {} if cache is None else self._read_cache(cache, allowed)
            missing = [form for form in allowed if form not in answers]
            round_ = _Round(self, missing, cache, progress)
            if not self.settings.dry_run:
                answers |= round_.ask()
        report = JudgeReport(
            judge=self.name,
            low=low,
            high=high,
            settings=self.settings,
            questions=len(allowed),
            left_out=len(forms) - len(allowed),
            answered=len(answers),
            cached=len(allowed) - len(missing),
            invalid=round_.invalid,
            failed=round_.failed,
            problem=round_.problem,
            not_asked=round_.not_asked,
            requests=round_.requests,
            tokens_in=round_.tokens_in,
            tokens_out=round_.tokens_out,
        )
        return [answers.get(form) for form in forms], report

    def service(self, admit: Callable[[Question], bool]) -> Service:
        return Service(
            self._address,
            concurrency=self.settings.concurrency,
            per_second=0,
            timeout=self.settings.timeout,
            retries=self.settings.retries,
            backoff=self.settings.backoff,
            seed=0,
            largest=LARGEST,
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            proxies=self._proxies,
            admit=admit,
        )

    def without_key(self, message: str) -> str:
        """A message of the endpoint, which may repeat the key."""
        return message.replace(self._key, "***") if self._key else message

    def cache_key(self, form: NameQuestion) -> str:
        question = {"url": redact(self._address), "body": form.body}
        return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()

    def _open_cache(self) -> AbstractContextManager[AnswerCache | None]:
        own = self.settings.cache
        path = Path(own) if own else cache_root() / "judge.sqlite"
        if self.settings.dry_run and not path.exists():
            return nullcontext()
        return open_cache(path)

    def _read_cache(
        self, cache: AnswerCache, forms: Sequence[NameQuestion]
    ) -> dict[NameQuestion, Partition]:
        key_of = {form: self.cache_key(form) for form in forms}
        stored = cache.get(key_of.values())
        try:
            return {
                form: read_partition(stored[key], len(form.names))
                for form, key in key_of.items()
                if key in stored
            }
        except ValueError as error:
            raise cache_error(cache.path, error) from error


class _Round:
    """The requests for some questions, with their limits and what became of them."""

    def __init__(
        self,
        judge: Judge,
        forms: Sequence[NameQuestion],
        cache: AnswerCache | None,
        progress: Progress | None,
    ) -> None:
        self._judge = judge
        self._forms = forms
        self._cache = cache
        self._progress = progress
        self._lock = Lock()
        self._failures = 0  # in a row
        self._done = 0
        self.invalid = self.failed = self.not_asked = self.requests = 0
        self.problem = ""
        self.tokens_in = self.tokens_out = 0
        if judge.settings.dry_run:
            self.tokens_in = sum(form.tokens for form in forms)
            self.tokens_out = sum(form.longest_answer for form in forms)

    def ask(self) -> dict[NameQuestion, Partition]:
        if not self._forms:
            return {}
        form_of = {f"question {number}": form for number, form in enumerate(self._forms, 1)}

        def admit(question: Question) -> bool:
            return self._admit(form_of[question.name])

        questions = [Question(name, json=form.body) for name, form in form_of.items()]
        answers = self._judge.service(admit).ask(questions, self._read, on_failure=self._fail)
        pairs = zip(self._forms, answers, strict=True)
        return {form: answer for form, answer in pairs if answer is not None}

    def _admit(self, form: NameQuestion) -> bool:
        """Whether a request for this question may start; its tokens are counted in advance."""
        settings = self._judge.settings
        with self._lock:
            tokens = self.tokens_in + self.tokens_out + form.tokens + form.longest_answer
            if (
                self._failures >= FAILURES
                or self.requests >= settings.calls
                or tokens > settings.tokens
            ):
                return False
            self.requests += 1
            self.tokens_in += form.tokens
            self.tokens_out += form.longest_answer
            return True

    def _read(self, number: int, body: bytes) -> Partition | None:
        form = self._forms[number]
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise NonsenseError("an answer that is not JSON") from error
        usage = answer.get("usage") if isinstance(answer, dict) else None
        self._count(form, usage)
        try:
            partition = read_partition(_content(answer), len(form.names))
        except ValueError as error:
            self._keep_problem(str(error))
            with self._lock:
                self.invalid += 1
            return None
        if self._cache is not None:
            sets = [[position + 1 for position in part] for part in partition]
            self._cache.put(self._judge.cache_key(form), json.dumps({"sets": sets}))
        return partition

    def _fail(self, error: SynsetmineError) -> None:
        with self._lock:
            if isinstance(error, NotAskedError):
                self.not_asked += 1
                return
            self.failed += 1
            self._failures += 1
        self._keep_problem(str(error))

    def _count(self, form: NameQuestion, usage: object) -> None:
        """Correct the tokens that were counted in advance by those of the endpoint."""
        counts = usage if isinstance(usage, Mapping) else {}
        tokens_in = _whole(counts.get("prompt_tokens"), form.tokens)
        tokens_out = _whole(counts.get("completion_tokens"), form.longest_answer)
        with self._lock:
            self._failures = 0
            self.tokens_in += tokens_in - form.tokens
            self.tokens_out += tokens_out - form.longest_answer
            self._done += 1
            done = self._done
        if self._progress is not None:
            self._progress(done, len(self._forms))

    def _keep_problem(self, problem: str) -> None:
        text = " ".join(self._judge.without_key(problem).split())
        with self._lock:
            self.problem = self.problem or shorten(text, 160)


def _content(answer: object) -> str:
    """The text of a chat completion; a ValueError for anything else."""
    match answer:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
    raise ValueError("an answer that is no chat completion")


def _whole(value: object, otherwise: int) -> int:
    is_count = type(value) is int and 0 <= value < 10**9
    return value if is_count else otherwise  # type: ignore[return-value]


def _within_limits(forms: Sequence[NameQuestion], settings: JudgeSettings) -> list[NameQuestion]:
    """The first questions, as many as the limits allow without the cache."""
    allowed: dict[NameQuestion, None] = {}
    tokens = 0
    for form in forms:
        if form in allowed:
            continue
        tokens += form.tokens + form.longest_answer
        if len(allowed) == settings.calls or tokens > settings.tokens:
            break
        allowed[form] = None
    return list(allowed)
