"""The answer of a language model: its schema, and what a text of that schema says."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from rocm_doctor.bounded import Unreadable, jsons

Sentence = Annotated[str, msgspec.Meta(max_length=1_500)]
Line = Annotated[str, msgspec.Meta(max_length=600)]


class ToldStep(msgspec.Struct, frozen=True):
    """One step of a cure: a sentence, and the commands that do it."""

    do: Sentence
    commands: Annotated[tuple[Line, ...], msgspec.Meta(max_length=8)]


class ToldCause(msgspec.Struct, frozen=True):
    """A cause: an id of a diagnosis, `none` or `other`; why; literal quotes; the cure."""

    diagnosis: Annotated[str, msgspec.Meta(max_length=80)]
    cause: Sentence
    quotes: Annotated[tuple[Line, ...], msgspec.Meta(max_length=6)]
    cure: Annotated[tuple[ToldStep, ...], msgspec.Meta(max_length=6)]


class Told(msgspec.Struct, frozen=True):
    """The whole answer, the likeliest cause first."""

    causes: Annotated[tuple[ToldCause, ...], msgspec.Meta(max_length=3)]


def _form() -> Any:
    """The JSON schema as services take it: no references, every field required, no other field, and no limits."""
    (whole,), parts = msgspec.json.schema_components([Told], ref_template="{name}")

    def plain(part: Any) -> Any:
        part = parts.get(part.get("$ref"), part)
        if part["type"] == "object":
            fields = {name: plain(one) for name, one in part["properties"].items()}
            return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        return {"type": "array", "items": plain(part["items"])} if part["type"] == "array" else {"type": "string"}

    return plain(whole)


FORM: Any = _form()
"""The schema of an answer, as `response_format` takes it."""
SCHEMA = msgspec.json.encode(FORM).decode()


def read(text: str) -> Told:
    """The answer in a text: the outermost braces of it, whatever is around them. Raises Unreadable if there are none, or if what
    they hold has another form."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise Unreadable("no JSON object")
    return jsons.decode(text[start : end + 1].encode(errors="replace"), Told)
