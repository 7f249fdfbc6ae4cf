"""`synsetmine push`."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.errors import SynsetmineError, one_line, quantity

if TYPE_CHECKING:
    from synsetmine.export.push import Difference, Rules, SynonymsApi

SHOWN = 40  # lines of a difference


def push(
    rules: Annotated[
        Path,
        typer.Argument(
            help="Rules, as `export --format elasticsearch` writes them, or synonyms.txt; further "
            "parts of an export go into further sets."
        ),
    ],
    url: Annotated[str, typer.Option(help="Elasticsearch's address.")],
    name: Annotated[
        str, typer.Option("--set", help="The synonyms set; further parts go to NAME-2, …")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the change.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help=f"Show all changes, not only {SHOWN} lines per set.")
    ] = False,
) -> None:
    """Replace a synonyms set of Elasticsearch, after a look at what changes.

    The environment has the credentials: SYNSETMINE_SEARCH_API_KEY, or SYNSETMINE_SEARCH_USER and
    SYNSETMINE_SEARCH_PASSWORD. The command shows the rules that the server would gain, lose or
    change, and asks.

    Example: `synsetmine push synonyms.json --url https://localhost:9200 --set mined --dry-run`
    """
    from synsetmine.export.push import SynonymsApi, compare_rules, read_parts

    sets = read_parts(rules, name)
    with SynonymsApi(url) as api:
        changes: dict[str, Difference] = {}
        for set_name, new in sets.items():
            old = api.rules(set_name)
            difference = compare_rules(old or {}, new)
            _show(set_name, difference, is_new=old is None, full=full)
            if difference:
                changes[set_name] = difference
        _warn_of_more(api, f"{name}-{len(sets) + 1}")
        if not changes:
            console.say("nothing to change")
        elif dry_run:
            console.say("nothing sent: this is a dry run")
        else:
            _confirm(changes, yes=yes)
            _send(api, {set_name: sets[set_name] for set_name in changes})


def _show(name: str, difference: Difference, *, is_new: bool, full: bool) -> None:
    lines = list(difference.lines())
    for line in lines if full else islice(lines, SHOWN):
        console.show(one_line(line))
    if len(lines) > SHOWN and not full:
        console.say(f"… and {quantity(len(lines) - SHOWN, 'further line')}; --full shows all")
    console.say(f"{name}{' (a new set)' * is_new}: {difference}")


def _warn_of_more(api: SynonymsApi, name: str) -> None:
    """A set that an earlier, longer push left is still in use."""
    if old := api.rules(name):
        console.warn(f"{name} with {quantity(len(old), 'rule')} is no part of this push; it stays")


def _confirm(changes: dict[str, Difference], *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise SynsetmineError("nothing sent: there is no terminal to ask on; give --yes")
    names = ", ".join(changes)
    if not typer.confirm(one_line(f"replace {names}?"), default=False, err=True):
        raise SynsetmineError("nothing sent")


def _send(api: SynonymsApi, sets: dict[str, Rules]) -> None:
    """Replace the sets, one after the other; an error says which are replaced already."""
    done: list[str] = []
    problems: list[str] = []
    for name, rules in sets.items():
        try:
            problem = api.put(name, rules)
        except SynsetmineError as error:
            message = f"; replaced before that: {', '.join(done)}" if done else ""
            raise SynsetmineError(f"{error}{message}") from error
        done.append(name)
        console.say(f"{name}: {quantity(len(rules), 'rule')} sent")
        if problem:
            problems.append(f"{name}: {problem}")
    if problems:
        raise SynsetmineError("; ".join(problems))
