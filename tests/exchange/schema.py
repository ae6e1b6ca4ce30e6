# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""As much of JSON schema as the files beside this one use."""


def walk_schema(schema, value, where="$"):
    """What of the value does not agree with the schema, a line each."""
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if "type" in schema and not isinstance(value, types[schema["type"]]):
        yield f"{where} is no {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}"
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where} has no {key}"
    for key, part in schema.get("properties", {}).items():
        if key in value:
            yield from walk_schema(part, value[key], f"{where}.{key}")
    if "items" in schema:
        for i, item in enumerate(value):
            yield from walk_schema(schema["items"], item, f"{where}[{i}]")
