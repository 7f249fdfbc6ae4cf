"""The OpenAPI document of the serving API, made of the fields that it really reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from synsetmine import __version__
from synsetmine.types import NameKind, Scope
from synsetmine.web.questions import FIELDS, KINDS, MOST_QUESTIONS, NEEDED, Field, Texts

Schema = dict[str, Any]


def openapi_document() -> Schema:
    """OpenAPI 3.1, whose schemas are JSON Schema."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "synsetmine",
            "version": __version__,
            "description": "Synonyms of terms, from mined sets or by a model.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}, {"cookie": []}],
        "paths": {
            "/v1/health": {"get": _operation("health", "Whether the server is up", "Health")},
            **{f"/v1/{kind}": {"get": _question(kind)} for kind in KINDS},
            "/v1/batch": {"post": _batch()},
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "synsetmine_token_PORT",
                    "description": "Below the path to which the printed address leads.",
                },
            },
        },
    }


SUMMARIES = {
    "expand": "The synonyms of a term",
    "rank": "The terms that fit a set best",
    "score": "The probability of each of some terms to belong to a set",
}
PROBLEMS = {
    400: "A field is missing, unknown or has a wrong value",
    404: "A term is not known; `near` names some that are written alike",
    409: "A text may mean several terms; `near` names them",
    501: "The server has mined sets only, and no model",
    503: "Too many questions wait for the model",
}
REFUSALS = {
    401: "The server asks for its token",
    403: "The request names another host, or comes from a page of another site",
}


def _question(kind: str) -> Schema:
    found = _operation(kind, SUMMARIES[kind], kind.capitalize(), PROBLEMS)
    found["parameters"] = [
        {
            "name": name,
            "in": "query",
            "required": field.default is NEEDED,
            "description": field.help,
            "schema": field.schema,
            **({"style": "form", "explode": True} if isinstance(field, Texts) else {}),
        }
        for name, field in FIELDS[kind].items()
    ]
    return found


def _batch() -> Schema:
    problems = {
        400: "The body is not JSON, or not a batch",
        413: "The body is too large",
        415: "The body is not of the type application/json",
    }
    found = _operation("batch", "Several questions at once", "Batch", problems)
    body = {"type": "object", "required": ["questions"], "additionalProperties": False}
    body["properties"] = {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_QUESTIONS,
            "items": {"oneOf": [_asked(kind) for kind in KINDS]},
        }
    }
    found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return found


def _asked(kind: str) -> Schema:
    fields = FIELDS[kind]
    return _object({kind: _object({name: _described(f) for name, f in fields.items()}, fields)})


def _described(field: Field) -> Schema:
    return {**field.schema, "description": field.help}


def _operation(
    name: str, summary: str, answer: str, problems: Mapping[int, str] | None = None
) -> Schema:
    wrong = {**(problems or {}), **REFUSALS}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": _content(answer)},
            **{
                str(status): {"description": said, "content": _content("Problem")}
                for status, said in sorted(wrong.items())
            },
        },
    }


def _content(schema: str) -> Schema:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _schemas() -> dict[str, Schema]:
    text, whole, texts = (
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        _list({"type": "string"}),
    )
    share = {"type": "number", "minimum": 0, "maximum": 1}
    scored = _object({"term": text, "probability": share})
    synonym = _object(
        {
            "term": text,
            "probability": {
                "type": ["number", "null"],
                "description": "With which it joined; null for terms that were there before.",
            },
            "count": {**whole, "description": "How often the corpus has it; of mined sets."},
            "known": {
                "type": "boolean",
                "description": "Whether the knowledge base has this name; of mined sets.",
            },
            "kind": {
                "enum": list(get_args(NameKind)),
                "description": "Of a new name; see the docs.",
            },
            "relation": {
                "enum": list(get_args(Scope)),
                "description": "To the set, as the run proposes it.",
            },
            "nearest": {**text, "description": "The name of the set that it is nearest to."},
            "evidence": {
                **_list(_object({"relation": text, "document": text, "text": text})),
                "description": "Sentences that state that it means the same; the best first.",
            },
        },
    )
    synonym["required"] = ["term", "probability"]
    mined = _object({"id": text, "entity": _or_null(text), "name": _or_null(text)})
    error = _object({"code": text, "message": text, "term": text, "near": texts})
    error["required"] = ["code", "message"]
    answers = [_ref(kind.capitalize()) for kind in KINDS]
    return {
        "Health": _object(
            {
                "status": {"const": "ok"},
                "version": text,
                "mined": _or_null(_object({"sets": whole, "terms": whole})),
                "model": _or_null(_object({"terms": whole, "threshold": share})),
            }
        ),
        "Expand": _object(
            {"term": text, "set": _or_null(mined), "synonyms": _list(synonym)},
        ),
        "Rank": _object({"set": texts, "terms": _list(scored)}),
        "Score": _object({"set": texts, "terms": _list(scored), "threshold": share}),
        "Batch": _object(
            {
                "answers": _list(
                    {
                        "oneOf": [
                            _object({"status": {"const": 200}, "answer": {"oneOf": answers}}),
                            _object({"status": {"enum": [*PROBLEMS]}, "error": error}),
                        ]
                    }
                )
            }
        ),
        "Problem": _object({"error": error}),
    }


def _object(properties: Mapping[str, Schema], fields: Mapping[str, Field] | None = None) -> Schema:
    """An object with these properties and no others; all are required, or the fields say which."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [
            name for name in properties if fields is None or fields[name].default is NEEDED
        ],
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
