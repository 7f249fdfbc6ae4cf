"""Rules for Elasticsearch's synonyms API: what a push would change, and the push."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from synsetmine.errors import (
    DataError,
    SynsetmineError,
    import_extra,
    quantity,
    shorten,
    skip_broken,
)
from synsetmine.export.solr import LIMIT, part_of
from synsetmine.io.downloads import redact
from synsetmine.io.files import read_whole
from synsetmine.io.rules import parse_rule, read_lines
from synsetmine.io.sets import is_rule_file, new_id
from synsetmine.linking.service import certificates, check_address
from synsetmine.types import Term

if TYPE_CHECKING:
    import httpx

KEY = "SYNSETMINE_SEARCH_API_KEY"
USER, PASSWORD = "SYNSETMINE_SEARCH_USER", "SYNSETMINE_SEARCH_PASSWORD"
PAGE = 1000  # rules of one answer
TIMEOUT = 120.0  # seconds: the server reloads the analyzers of all indices before it answers
LARGEST = 50_000_000  # bytes of one answer

_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_MISSING = ("resource_not_found_exception", "index_not_found_exception")
_NO_API = (
    "OpenSearch and Elasticsearch before 8.10 have no synonyms API: copy the file of "
    "`export --format solr` to the nodes, then refresh the search analyzers"
)

Rules = Mapping[str, str]  # by id


@dataclass(frozen=True)
class Difference:
    """What a push changes in a set; `changed` has the old and the new rule of an id."""

    added: Rules
    removed: Rules
    changed: Mapping[str, tuple[str, str]]
    unchanged: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        return (
            f"{quantity(len(self.added), 'rule')} to add, {len(self.changed):,} to change, "
            f"{len(self.removed):,} to remove, {self.unchanged:,} unchanged"
        )

    def lines(self) -> Iterator[str]:
        """The rules that go with `-` and those that come with `+`."""
        for rule_id, rule in self.removed.items():
            yield f"- {rule_id}: {rule}"
        for rule_id, (old, new) in self.changed.items():
            yield f"- {rule_id}: {old}"
            yield f"+ {rule_id}: {new}"
        for rule_id, rule in self.added.items():
            yield f"+ {rule_id}: {rule}"


def compare_rules(old: Rules, new: Rules) -> Difference:
    both = [rule_id for rule_id in new if rule_id in old]
    changed = {id_: (old[id_], new[id_]) for id_ in both if old[id_] != new[id_]}
    return Difference(
        added={rule_id: rule for rule_id, rule in new.items() if rule_id not in old},
        removed={rule_id: rule for rule_id, rule in old.items() if rule_id not in new},
        changed=changed,
        unchanged=len(both) - len(changed),
    )


def read_parts(path: Path, name: str) -> dict[str, Rules]:
    """The rules of a file and of its further parts, under the names of their sets.

    The second part, `synonyms-2.json`, has the set `NAME-2`.
    """
    if not _NAME.fullmatch(name):
        problem = "the name of a set must have letters, digits, `_`, `-` and `.` only"
        raise DataError(problem, value=name)
    sets = {name: read_body(path)}
    while (part := part_of(path, len(sets) + 1)).exists():
        sets[f"{name}-{len(sets) + 1}"] = read_body(part)
    return sets


def read_body(path: Path) -> Rules:
    """The rules of a file of `export --format elasticsearch`, or of synonyms.txt, each checked."""
    if is_rule_file(path):
        return _checked_size(_rules_of_lines(path), path)
    try:
        body = json.loads(read_whole(path))
    except (ValueError, RecursionError) as error:
        hint = "`synsetmine export --format elasticsearch` writes it"
        raise DataError(f"not JSON ({error})", path=path, hint=hint) from None
    rules = _rules_of(body, path)
    for rule_id, rule in rules.items():
        try:
            parsed = None if re.search(r"[\r\n]", rule) else parse_rule(rule)
        except DataError as error:
            raise DataError(f"rule {rule_id!r}: {error.problem}", path=path, value=rule) from None
        if parsed is None:
            raise DataError(
                f"rule {rule_id!r} is empty, a comment or several lines", path=path, value=rule
            )
    return _checked_size(rules, path)


def _rules_of_lines(path: Path) -> Rules:
    """The rules of a synonyms.txt as they stand; the id of a rule is a hash of its terms."""
    rules: dict[str, str] = {}
    for number, line in read_lines(path):
        with skip_broken(path, number, None):
            if (rule := parse_rule(line, number)) is not None:
                rules[new_id(map(Term, rule.terms), rules)] = line
    return rules


def _checked_size(rules: Rules, path: Path) -> Rules:
    if not rules:
        raise DataError("no rules in this file", path=path)
    if len(rules) > LIMIT:
        problem = f"{len(rules):,} rules; a set of Elasticsearch has {LIMIT:,} at most"
        hint = "export again without --limit, which divides them among sets"
        raise DataError(problem, path=path, hint=hint)
    return rules


def _rules_of(body: object, path: Path | None = None) -> dict[str, str]:
    """The rules in a body of the API, by id."""
    listed = body.get("synonyms_set") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        raise DataError("expected an object with the list `synonyms_set`", path=path)
    rules: dict[str, str] = {}
    for entry in listed:
        rule_id, rule = (
            (entry.get("id"), entry.get("synonyms")) if isinstance(entry, dict) else (None, None)
        )
        if not isinstance(rule_id, str) or not rule_id or not isinstance(rule, str):
            problem = "a rule needs the texts `id` and `synonyms`"
            raise DataError(problem, path=path, value=json.dumps(entry, ensure_ascii=False))
        if rule_id in rules:
            raise DataError("two rules with one id", path=path, value=rule_id)
        rules[rule_id] = rule
    return rules


class SynonymsApi:
    """The synonyms API at an address, with the credentials of the environment.

    They are an API key, or a user and a password. They go to this address alone, encrypted or to
    this machine: redirects are not followed.
    """

    def __init__(self, url: str) -> None:
        import_extra("httpx", "the push", "push")
        self._headers, self._person, self._secret = _credentials()
        is_local = check_address(
            url, "the search engine", f"{KEY} or {PASSWORD}", has_key=bool(self._secret)
        )
        self.url = url.rstrip("/")
        self._proxies = not is_local

    def __enter__(self) -> Self:
        import httpx

        self._client = httpx.Client(
            headers={"Accept": "application/json", "Accept-Encoding": "identity", **self._headers},
            auth=self._person,
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=self._proxies,
            verify=certificates(),
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def rules(self, name: str) -> Rules | None:
        """The rules of a set; None if there is no such set."""
        rules: dict[str, str] = {}
        while True:
            body = self._ask("GET", name, params={"from": len(rules), "size": PAGE})
            if body is None:
                return None
            with self._shape():
                count, page = int(body["count"]), _rules_of(body)
            rules |= page
            if len(rules) >= count or not page:
                break
        if len(rules) != count:
            raise SynsetmineError(f"{self._place(name)}: the set changed meanwhile; run it again")
        return rules

    def put(self, name: str, rules: Rules) -> str:
        """Replace the rules of a set. Returns which search analyzers did not load them, or ''."""
        entries = [{"id": rule_id, "synonyms": rule} for rule_id, rule in rules.items()]
        body = self._ask("PUT", name, json={"synonyms_set": entries})
        with self._shape():
            shards = (body or {}).get("reload_analyzers_details", {}).get("_shards", {})
            failed = int(shards.get("failed", 0))
        if not failed:
            return ""
        return f"{quantity(failed, 'shard')} did not load the rules; look into the server's log"

    def _ask(self, method: str, name: str, **request: Any) -> dict[str, Any] | None:
        """The answer, or None where there is no such set."""
        import httpx

        url = f"{self.url}/_synonyms/{name}"
        try:
            with self._client.stream(method, url, **request) as response:
                content = _content(response)
        except httpx.TimeoutException:
            message = f"no answer within {TIMEOUT:.0f} seconds"
            message += "; the set may have changed, --dry-run shows it" if method == "PUT" else ""
            raise SynsetmineError(f"{self._place(name)}: {message}") from None
        except httpx.RequestError as error:
            raise SynsetmineError(f"{self._place(name)}: {error or type(error).__name__}") from None
        body = _json(content)
        reason = _reason(body)
        if response.status_code == 404 and method == "GET" and reason[0] in _MISSING:
            return None
        if response.is_success and isinstance(body, dict):
            return body
        raise SynsetmineError(
            f"{self._place(name)}: {self._failure(response, reason[1] or _excerpt(content))}"
        )

    def _failure(self, response: httpx.Response, reason: str) -> str:
        status = f"{response.status_code} {response.reason_phrase}".rstrip()
        if response.has_redirect_location:
            target = shorten(redact(response.headers["Location"]))
            return f"{status}: redirects are not followed, this one to {target}"
        if response.is_success:
            return f"{status}, but not the JSON of Elasticsearch's synonyms API"
        message = f"{status}: {reason}"
        if self._secret:
            message = message.replace(self._secret, "***")
        if response.status_code == 401:
            return f"{message}; set {KEY}, or {USER} and {PASSWORD}"
        if response.status_code == 403:
            return f"{message}; it needs the privilege manage_search_synonyms"
        return f"{message}; {_NO_API}" if "no handler found" in message else message

    def _place(self, name: str) -> str:
        return f"{redact(self.url)}, set {name}"

    @contextmanager
    def _shape(self) -> Iterator[None]:
        try:
            yield
        except (DataError, KeyError, TypeError, ValueError, AttributeError) as error:
            problem = "not an answer of Elasticsearch's synonyms API"
            raise SynsetmineError(f"{redact(self.url)}: {problem} ({error})") from error


def _credentials() -> tuple[dict[str, str], tuple[str, str] | None, str]:
    """Headers, user and password, and what of it is secret."""
    key, user, password = (os.environ.get(name, "") for name in (KEY, USER, PASSWORD))
    if key and (user or password):
        raise SynsetmineError(f"set either {KEY} or {USER} and {PASSWORD}, not both")
    if bool(user) != bool(password):
        raise SynsetmineError(f"{USER} and {PASSWORD} go together; one of them is empty")
    if not re.fullmatch(r"[!-~]*", key):
        raise SynsetmineError(f"{KEY} must be a key of printable ASCII characters")
    headers = {"Authorization": f"ApiKey {key}"} if key else {}
    return headers, (user, password) if user else None, key or password


def _content(response: httpx.Response) -> bytes:
    """The answer as it comes, cut where it grows too large; a compressed one is no JSON then."""
    import httpx

    chunks: list[bytes] = []
    size, end = 0, time.monotonic() + TIMEOUT
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST:
            break
        if time.monotonic() > end:
            raise httpx.ReadTimeout("the answer does not end")
    return b"".join(chunks)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _excerpt(content: bytes) -> str:
    return shorten(" ".join(content[:2000].decode(errors="replace").split()))


def _reason(body: object) -> tuple[str, str]:
    """Type and reason of an error of Elasticsearch."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return str(error.get("type", "")), shorten(str(error.get("reason", "")))
    return "", shorten(error) if isinstance(error, str) else ""
