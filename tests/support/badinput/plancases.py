"""Bad plans, registries and tables of a knowledge graph, for `apply-plan` and `group`."""

from __future__ import annotations

from pathlib import Path

from tests.support.badinput.case import Case
from tests.support.badinput.inputs import Make, bomb, files

PLAN = '{"id": "s1", "canonical": "IBM", "members": [{"name": "IBM"}, {"name": "I.B.M."}]}\n'
ENTITIES = "id,name,degree\n1,IBM,2\n2,I.B.M.,x\n"


def _apply(
    what: str, says: str, *, plan: str = PLAN, entities: str | Make = ENTITIES, more: str = ""
) -> Case:
    def make(folder: Path) -> None:
        files({"p.jsonl": plan})(folder)
        table = entities if callable(entities) else files({"e.csv": entities})
        table(folder)

    command = ("apply-plan", "p.jsonl", "--entities", "e.csv", "--out-dir", "out", *more.split())
    return Case("plans", what, make, command, 1, says)


def _registry(what: str, content: str, says: str) -> Case:
    command = ("group", "x.txt", "--registry", "r.jsonl", "-o", "out.csv")
    return Case("plans", what, files({"x.txt": "IBM\n", "r.jsonl": content}), command, 1, says)


PLAN_CASES = (
    _apply("a plan with a line that is not JSON", "p.jsonl:1: not JSON: '{'", plan="{\n"),
    _apply(
        "a merge without members",
        'p.jsonl:1: expected {"id": "…", "canonical": "…", "members": [{"name": "…"}, …]}: '
        '\'{"id": "s1", "canonical": "IBM"}\'',
        plan='{"id": "s1", "canonical": "IBM"}\n',
    ),
    _apply("a merge twice", "p.jsonl:2: line 1 already has this id: 's1'", plan=PLAN + PLAN),
    _apply(
        "a plan that gives a row to two merges",
        "two merges of the plan have this row: '1'",
        plan=PLAN.replace('"IBM"}', '"IBM", "ids": ["1"]}')
        + PLAN.replace('"IBM"}', '"IBM", "ids": ["1"]}').replace("s1", "s2"),
    ),
    _apply(
        "a number to add that is none",
        "e.csv: the column degree cannot be summed: it has values that are not numbers: 'x'",
        more="--sum degree",
    ),
    _apply(
        "a table of entities without names",
        "e.csv: no column has this name; the columns are a, b: 'name'",
        entities="a,b\n1,2\n",
    ),
    _apply(
        "a table of entities with one column twice",
        "e.csv:1: two columns have this name: 'name'",
        entities="name,name\na,b\n",
    ),
    _apply(
        "an undo of what was not applied",
        "e.csv: the table has no such column: no plan was applied to it: 'set_id'",
        more="--undo",
    ),
    _apply(
        "an undo of a column that was edited",
        "e.csv: this column is not as apply-plan wrote it: 'merged_from'",
        entities="name,set_id,merged_from\nIBM,s1,[1]\n",
        more="--undo",
    ),
    _apply(
        "a gzip bomb of entities",
        "e.csv.gz:1: a line is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…",
        entities=files({"e.csv.gz": bomb, "e.csv": ENTITIES}),
        more="--entities e.csv.gz",
    ),
    _registry(
        "a registry with a line of another kind",
        '{"id": "a"}\n',
        'r.jsonl:1: expected {"id": "…", "names": [{"name": "…"}, …]} or {"never": […]}: '
        '\'{"id": "a"}\'',
    ),
    _registry(
        "a registry with a name in two entities",
        '{"id": "a", "names": [{"name": "b"}]}\n{"id": "c", "names": [{"name": "B"}]}\n',
        "r.jsonl:2: the entity on line 1 has this name, with this type and sense: 'b'",
    ),
)
