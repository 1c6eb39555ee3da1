"""Data of a later release, read by an older tool: what the tool has no field for is left out."""

from __future__ import annotations

from typing import Any

import msgspec


def decode(data: bytes, kind: Any) -> Any:
    """The JSON as that type, without the fields that the type does not have. Raises msgspec.MsgspecError if a field is missing or
    of another type."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        from msgspec import inspect  # for later data alone: ours costs no start

        return msgspec.convert(_keep_known(msgspec.json.decode(data), inspect.type_info(kind)), kind)


def _keep_known(value: Any, of: Any) -> Any:
    from msgspec import inspect

    if isinstance(of, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in of.fields}
        return {name: _keep_known(part, fields[name]) for name, part in value.items() if name in fields}
    if isinstance(of, inspect.DictType) and isinstance(value, dict):
        return {name: _keep_known(part, of.value_type) for name, part in value.items()}
    if isinstance(of, (inspect.VarTupleType, inspect.ListType)) and isinstance(value, list):
        return [_keep_known(part, of.item_type) for part in value]
    if isinstance(of, inspect.UnionType) and isinstance(value, (dict, list)):
        kinds = (inspect.StructType, inspect.DictType) if isinstance(value, dict) else (inspect.VarTupleType, inspect.ListType)
        return next((_keep_known(value, one) for one in of.types if isinstance(one, kinds)), value)
    return value
