"""Files of synonym sets, vocabularies and traces, and ids of sets that last from run to run."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

from synsetmine.errors import DataError, ErrorCounts, raise_or_keep, skip_broken
from synsetmine.io.files import numbered_lines, parse_json, plain_name, write_text
from synsetmine.io.rules import has_arrow, parse_rule
from synsetmine.normalization import is_unicode
from synsetmine.types import NameKind, Scope, SetsLike, SynonymSets, Term, first_duplicate

DIGITS = 10  # of a hash: in two runs about one pair of a million sets collides, and is separated


def lasting_ids(
    sets: SynonymSets, *, fixed: Collection[str] = (), earlier: SynonymSets | None = None
) -> dict[str, str]:
    """For each id of a set the id that it is to have.

    Ids in `fixed` (those of known entities) stay. A set that shares more than half of its terms
    with more than half of an earlier set is that set, and there can be only one such. The others
    are called after a hash of their terms, so that the same set has the same id everywhere.
    """
    kept = set(fixed)
    names = {set_id: set_id for set_id in sets.ids if set_id in kept}
    others = [(i, members) for i, members in zip(sets.ids, sets, strict=True) if i not in names]
    taken = set(names.values()) | kept
    if earlier is not None:
        for set_id, members in others:
            name = _same_set(members, earlier)
            if name is not None and name not in taken:
                names[set_id] = name
                taken.add(name)
    for set_id, members in others:
        if set_id not in names:
            names[set_id] = new_id(members, taken)
            taken.add(names[set_id])
    return names


def _same_set(members: Collection[Term], earlier: SynonymSets) -> str | None:
    shared = Counter(earlier.label_of(term) for term in members if term in earlier)
    if not shared:
        return None
    number, count = shared.most_common(1)[0]
    same = 2 * count > len(members) and 2 * count > len(earlier.sets[number])
    return earlier.ids[number] if same else None


def new_id(members: Iterable[Term], taken: Container[str]) -> str:
    """An id for a set of these terms that no other has."""
    text = "\n".join(sorted(map(str, members)))
    name = f"s{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"
    if name not in taken:
        return name
    used, free = 1, 2  # one after the other would take long for thousands of equal sets
    while f"{name}-{free}" in taken:
        used, free = free, 2 * free
    while free - used > 1:
        middle = (used + free) // 2
        used, free = (middle, free) if f"{name}-{middle}" in taken else (used, middle)
    return f"{name}-{free}"


_PAPER_LINE = re.compile(r"""\s*\S+ \{\s*['"]""")
# A quoted term up to its comma, or to the end of the set.
_QUOTED = re.compile(
    r"""\s*('(?:[^'\\\0\r\n]|\\[^\0\r\n])*'|"(?:[^"\\\0\r\n]|\\[^\0\r\n])*")\s*(?:,\s*|\Z)"""
)


def read_sets(
    path: str | Path,
    *,
    skipped: list[DataError] | ErrorCounts | None = None,
    allow_empty: bool = False,
) -> SynonymSets:
    """Read a `.set` or `.jsonl` file, or a `synonyms.txt` of Solr (also .gz, .bz2 or .zst).

    A broken line raises a DataError with file, line and value. With `skipped`, broken lines are
    skipped and their errors go there. A file without sets is an error unless `allow_empty`.

    A rule of a `synonyms.txt` is a set, whose id is a hash of its terms. In `a, b => c` the
    right side comes first. Rules with the same right side are one set; it is an error if others
    share a term. With `skipped` the later rule loses that term, or is skipped if fewer than two
    terms are left.
    """
    sets = _read(Path(path), skipped, can_share=False)
    if not sets and not allow_empty:
        raise DataError("no synonym sets in this file", path=path)
    return SynonymSets(tuple(sets.values()), tuple(sets))


def read_entities(
    path: str | Path, *, skipped: list[DataError] | ErrorCounts | None = None
) -> dict[str, tuple[Term, ...]]:
    """The sets of such a file by their ids, for a knowledge base: a term may be in several.

    Of a `synonyms.txt`, a rule whose terms another one has too adds nothing and is no set.
    """
    return _read(Path(path), skipped, can_share=True)


def _read(
    path: Path, skipped: list[DataError] | ErrorCounts | None, *, can_share: bool
) -> dict[str, tuple[Term, ...]]:
    """The sets of a file by their ids."""
    lines = (line for line in numbered_lines(path, skipped=skipped) if line[1].strip())
    first = list(islice(lines, 1))
    read = _read_rules if first and _has_rules(path, first[0][1]) else _read_lines
    return read(path, chain(first, lines), skipped, can_share=can_share)


def _has_rules(path: Path, line: str) -> bool:
    """Whether a file with this first line is a `synonyms.txt`; the paper's sets may be in .txt."""
    return is_rule_file(path) and not _PAPER_LINE.match(line)


def _read_lines(
    path: Path,
    lines: Iterable[tuple[int, str]],
    skipped: list[DataError] | ErrorCounts | None,
    *,
    can_share: bool,
) -> dict[str, tuple[Term, ...]]:
    """The sets of a .set or .jsonl file by their ids."""
    parse = _parse_jsonl if _is_jsonl(path) else _parse_paper
    first_line_of: dict[Term, int] = {}
    line_of_id: dict[str, int] = {}
    sets: dict[str, tuple[Term, ...]] = {}
    for number, line in lines:
        with skip_broken(path, number, skipped):
            set_id, terms = parse(line)
            _check_new(set_id, terms, line_of_id, first_line_of)
            line_of_id[set_id] = number
            if not can_share:
                first_line_of.update(dict.fromkeys(terms, number))
            sets[set_id] = terms
    return sets


def _read_rules(
    path: Path,
    lines: Iterable[tuple[int, str]],
    skipped: list[DataError] | ErrorCounts | None,
    *,
    can_share: bool,
) -> dict[str, tuple[Term, ...]]:
    """The sets of a `synonyms.txt` by hashes of their terms."""
    first_line_of: dict[Term, int] = {}
    members: list[dict[Term, None]] = []
    with_right_side: dict[frozenset[Term], dict[Term, None]] = {}
    for number, line in lines:
        with skip_broken(path, number, skipped):
            rule = parse_rule(line, number)
            if rule is None:
                continue
            if not rule.inputs or rule.outputs == () or (not rule.outputs and has_arrow(line)):
                raise DataError("a rule without terms on one side", value=line)
            right = frozenset(map(Term.parse, rule.outputs or ()))
            earlier = with_right_side.get(right, {}) if right else {}
            terms = dict.fromkeys(map(Term.parse, (*(rule.outputs or ()), *rule.inputs)))
            shared = {t: None for t in terms if t in first_line_of and t not in earlier}
            rest = [term for term in terms if term not in shared]
            is_left = skipped is not None and bool(rest) and len({*earlier, *rest}) > 1
            for term in () if can_share else shared:
                error = _shared_term(term, first_line_of[term], rest if is_left else ())
                raise_or_keep(error.at(path, number), skipped if is_left else None)
            if can_share:
                rest += shared  # not first: the earlier rule may prefer it
            if not earlier:
                members.append(earlier)
                with_right_side[right] = earlier
            earlier.update(dict.fromkeys(rest))
            for term in rest:
                first_line_of.setdefault(term, number)
    sets: dict[str, tuple[Term, ...]] = {}
    for one in _largest(members) if can_share else members:
        sets[new_id(one, sets)] = tuple(one)
    return sets


def _shared_term(term: Term, line: int, rest: Iterable[Term]) -> DataError:
    """The error of a term that an earlier rule has; `rest` is what stays of the later rule."""
    stays = ", ".join(map(str, rest))
    return DataError(
        f"the rule on line {line} already has this term",
        value=str(term),
        hint=f"only this term is left out, not {stays}"
        if stays
        else "join the two rules, or remove the term from one of them",
    )


def _largest(sets: Sequence[Collection[Term]]) -> Iterator[Collection[Term]]:
    """The sets that no other contains, of equal ones the first."""
    numbers: dict[Term, set[int]] = {}
    for number, members in enumerate(sets):
        for term in members:
            numbers.setdefault(term, set()).add(number)
    for number, members in enumerate(sets):
        containing = set.intersection(*(numbers[term] for term in members)) - {number}
        if not any(len(sets[i]) > len(members) or i < number for i in containing):
            yield members


def write_sets(path: str | Path, sets: SetsLike) -> None:
    """Write a `.set` or `.jsonl` file completely or not at all."""
    path, sets = Path(path), SynonymSets.of(sets)
    check_ids(path, sets.ids)
    line_of = _format_jsonl if _is_jsonl(path) else _format_paper
    lines = (line_of(i, terms) for i, terms in zip(sets.ids, sets.sets, strict=True))
    write_text(path, "".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Vocabulary:
    """Terms to mine in the order of their file, with counts if the file has them."""

    terms: tuple[Term, ...]
    counts: dict[Term, int]


def read_vocabulary(
    path: str | Path,
    *,
    skipped: list[DataError] | ErrorCounts | None = None,
    allow_empty: bool = False,
) -> Vocabulary:
    """Read one term per line, optionally followed by a tab and its count."""
    path = Path(path)
    terms: dict[Term, None] = {}
    counts: dict[Term, int] = {}
    for number, line in numbered_lines(path, skipped=skipped):
        if not line.strip():
            continue
        text, tab, count = line.rpartition("\t")
        with skip_broken(path, number, skipped):
            term = Term.parse(text if tab else line)
            if term in terms:
                raise DataError("this term is in the vocabulary twice", value=str(term))
            if tab:
                counts[term] = parse_count(count)
            terms[term] = None
    if not terms and not allow_empty:
        raise DataError("no terms in this file", path=path)
    return Vocabulary(tuple(terms), counts)


def parse_count(text: str) -> int:
    """A whole number that 64 bits hold."""
    digits = text.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise DataError("expected a count after the tab", value=text)
    return int(digits)


def is_set_file(path: Path) -> bool:
    """Whether the ending says that a file holds sets."""
    return _is_jsonl(path) or plain_name(path).endswith(".set")


def is_rule_file(path: Path) -> bool:
    """Whether a file with this ending may be a `synonyms.txt`; lists and vectors may be in .txt."""
    return plain_name(path).endswith(".txt")


def check_ids(path: Path, ids: Iterable[str]) -> None:
    """Refuse ids that a file of this format cannot hold."""
    for set_id in ids:
        if not _is_jsonl(path) and (not set_id or any(c.isspace() for c in set_id)):
            raise DataError(
                "an id in a .set file must not be empty or have whitespace", value=set_id
            )


def _is_jsonl(path: Path) -> bool:
    return plain_name(path).endswith(".jsonl")


def _check_new(
    set_id: str, terms: tuple[Term, ...], ids: dict[str, int], first_line_of: dict[Term, int]
) -> None:
    if set_id in ids:
        raise DataError(f"line {ids[set_id]} already has this id", value=set_id)
    for term in terms:
        if term in first_line_of:
            problem = f"the set on line {first_line_of[term]} already has this term"
            raise DataError(problem, value=str(term))
    if (again := first_duplicate(terms)) is not None:
        raise DataError("this term is in the set twice", value=str(again))


def _parse_paper(line: str) -> tuple[str, tuple[Term, ...]]:
    set_id, blank, literal = line.strip().partition(" ")
    if not blank or not literal.startswith("{"):
        raise DataError("expected `id {'term', 'term'}`", value=line)
    return set_id, tuple(Term.parse(text) for text in _set_literal(literal))


def _set_literal(literal: str) -> Iterator[str]:
    """The strings of a Python set display, in the order written; nothing is evaluated.

    Term by term: a syntax tree of the line would take fifty times its size.
    """
    position, end = 1, len(literal.rstrip()) - 1
    if end < 1 or literal[end] != "}":
        raise DataError("expected a set of quoted terms", value=literal)
    while position < end:
        match = _QUOTED.match(literal, position, end)
        if match is None:
            raise DataError("expected a quoted term", value=literal[position:end][:120])
        yield _unquote(match[1])
        position = match.end()
    if end == 1:
        raise DataError("expected a set of quoted terms", value=literal)  # {} is no set


def _unquote(written: str) -> str:
    if "\\" not in written:
        return written[1:-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # '\d' is a broken escape, not a term
            return str(ast.literal_eval(written))
    except (SyntaxError, ValueError) as error:
        raise DataError("expected a set of quoted terms", value=written) from error


def _parse_jsonl(line: str) -> tuple[str, tuple[Term, ...]]:
    match parse_json(line):
        case {"id": str(set_id), "terms": [_, *_] as terms} if all(
            isinstance(term, str) for term in terms
        ):
            if not is_unicode(set_id):
                raise DataError("an id must be valid Unicode", value=set_id)
            return set_id, tuple(Term.parse(term) for term in terms)
    raise DataError('expected {"id": "…", "terms": ["…", …]}', value=line)


def _format_paper(set_id: str, terms: tuple[Term, ...]) -> str:
    return f"{set_id} {{{', '.join(repr(str(term)) for term in terms)}}}"


def _format_jsonl(set_id: str, terms: tuple[Term, ...]) -> str:
    return json.dumps({"id": set_id, "terms": [str(term) for term in terms]}, ensure_ascii=False)


Action = Literal["joined", "opened", "forced", "no vector", "accepted"]
PUT: frozenset[Action] = frozenset({"joined", "forced", "accepted"})  # the term into its best set


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of the corpus that relates a term to a name of its set."""

    relation: str  # how: abbreviation, alias, …
    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one term: the best set at that time, its probability, the action.

    `forced` is a term that joined below the threshold because no more sets were allowed, and
    `accepted` a seed that the knowledge base lacks in its set: reviewers put it there. The other
    fields are of terms that joined or were accepted, where the run has them: see `kinds`.
    """

    term: Term
    best_set: str | None
    probability: float
    action: Action
    kind: NameKind | None = None
    relation: Scope | None = None
    nearest: str = ""  # the known name of the set that the term is nearest to
    evidence: tuple[Quote, ...] = ()  # the best first


def write_trace(path: str | Path, trace: Iterable[Decision]) -> None:
    """Write a JSONL file, one decision a line."""
    write_text(Path(path), "".join(f"{_line(decision)}\n" for decision in trace))


def read_trace(path: str | Path) -> Iterator[Decision]:
    """Read what `write_trace` wrote."""
    for number, line in numbered_lines(Path(path)):
        with skip_broken(Path(path), number, None):
            yield _decision(parse_json(line))


def _line(decision: Decision) -> str:
    record: dict[str, Any] = {
        "term": str(decision.term),
        "best_set": decision.best_set,
        "probability": round(decision.probability, 6),
        "action": decision.action,
    }
    optional = {
        "kind": decision.kind,
        "relation": decision.relation,
        "nearest": decision.nearest,
        "evidence": [asdict(sentence) for sentence in decision.evidence],
    }
    record |= {name: value for name, value in optional.items() if value}
    return json.dumps(record, ensure_ascii=False)


def _decision(record: object) -> Decision:
    match record:
        case {
            "term": str(term),
            "best_set": str() | None as best_set,
            "probability": int() | float() as probability,
            "action": str(action),
            **optional,
        } if action in get_args(Action) and _is_sound(best_set, probability):
            return Decision(
                Term.parse(term),
                best_set,
                float(probability),
                action,  # type: ignore[arg-type]
                kind=_one_of(NameKind, optional.get("kind"), "kind"),
                relation=_one_of(Scope, optional.get("relation"), "relation"),
                nearest=_text(optional.get("nearest", ""), "nearest"),
                evidence=_evidence(optional.get("evidence", [])),
            )
    raise DataError("not a trace record", value=record)


def _is_sound(best_set: str | None, probability: float) -> bool:
    possible = not isinstance(probability, bool) and 0 <= probability <= 1
    return possible and is_unicode(best_set or "")


def _one_of(allowed: object, value: object, name: str) -> Any:
    if value is not None and value not in get_args(allowed):
        raise DataError(f"{name} must be one of {', '.join(get_args(allowed))}", value=value)
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not is_unicode(value):
        raise DataError(f"{name} must be a string", value=value)
    return value


def _evidence(value: object) -> tuple[Quote, ...]:
    if not isinstance(value, list) or not all(isinstance(sentence, dict) for sentence in value):
        raise DataError("evidence must be a list of objects", value=value)
    fields = ("relation", "document", "text")
    return tuple(
        Quote(*(_text(sentence.get(name), f"{name} of evidence") for name in fields))
        for sentence in value
    )
