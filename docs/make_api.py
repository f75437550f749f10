#!/usr/bin/env python3
"""make_api.py < openapi.json > docs/api.md: the API for reading, from what a running daemon says of itself."""
import json
import sys

document = json.load(sys.stdin)
schemas = document["components"]["schemas"]
COMMON = {"304", "400", "401", "403", "404", "405", "408", "413", "414", "415", "417", "429", "431", "500", "501", "503"}


def kind_of(schema):
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return " or ".join(kind_of(one) for one in schema[key])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join("null" if one is None else f"`{one}`" for one in schema["enum"])
    kind = schema.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if kind.startswith("array") and "items" in schema:
        return f"list of {kind_of(schema['items'])}" + (" or null" if "null" in kind else "")
    if schema.get("format") == "date-time":
        kind = kind.replace("string", "time")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        kind += f", {low} to {high}"
    elif low is not None:
        kind += f", at least {low}"
    elif high is not None:
        kind += f", at most {high}"
    return kind


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def show_operation(method, path, operation):
    print(f"### {method.upper()} {path}\n")
    print(f"{operation.get('summary', '')}.".replace("..", "."))
    if operation.get("description"):
        print("\n" + operation["description"])
    if operation.get("parameters"):
        print("\n| parameter | in | kind | meaning |\n|---|---|---|---|")
        for one in operation["parameters"]:
            needed = ", needed" if one.get("required") and one["in"] != "path" else ""
            print(f"| `{one['name']}` | {one['in']}{needed} | {cell(kind_of(one.get('schema', {})))} | "
                  f"{cell(one.get('description', ''))} |")
    body = operation.get("requestBody", {}).get("content", {})
    if body:
        print("\nBody: " + "; ".join(f"`{kind}` {kind_of(one.get('schema', {}))}".rstrip()
                                     for kind, one in body.items()))
    print("\n| code | answer |\n|---|---|")
    for code, answer in operation["responses"].items():
        if code in COMMON:
            continue
        content = "; ".join(f"{kind_of(one.get('schema', {}))} (`{kind}`)"
                            for kind, one in answer.get("content", {}).items())
        print(f"| {code} | {cell(answer.get('description', ''))}{': ' + cell(content) if content else ''} |")
    print()


def show_schema(name, schema):
    print(f"### {name}\n")
    if schema.get("description"):
        print(schema["description"] + "\n")
    if "properties" not in schema:
        print(kind_of(schema) + "\n")
        return
    needed = set(schema.get("required", []))
    print("| key | kind | meaning |\n|---|---|---|")
    for key, one in schema["properties"].items():
        optional = "" if key in needed else " (optional)"
        print(f"| `{key}`{optional} | {cell(kind_of(one))} | {cell(one.get('description', ''))} |")
    print()


def main():
    print(f"""# The API

Made by docs/make_api.py from `/openapi.json`, which the daemon serves and tests check against its answers; do not edit.

JSON in UTF-8, times as RFC 3339 in UTC (`2026-11-16T08:30:00Z`). Errors are `application/problem+json` with `detail` saying what would be
right. Lists are `{{"items": [...], "next": cursor or null}}`: give `next` as `cursor` for the following page. Where tokens are in force, send
`Authorization: Bearer TOKEN`; a peer on loopback needs none.

Any request may also be answered with:

| code | when |
|---|---|""")
    common = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            for code, answer in operation["responses"].items():
                if code in COMMON:
                    common.setdefault(code, set()).add(answer.get("description", ""))
    for code in sorted(common):
        print(f"| {code} | {cell('; '.join(sorted(common[code])))} |")
    print("\n## Paths\n")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            show_operation(method, path, operation)
    print("## Objects\n")
    for name, schema in schemas.items():
        show_schema(name, schema)


main()
