"""The JSON Schema of catalogues, for completion and checks in editors.

    python -m pappi.ppinot.notations.yaml.schema > schemas/catalogue.schema.json

It is made from the very description that reads catalogues.
"""

from __future__ import annotations

import json
import sys

from pappi.ppinot.notations.shapes import Json, SchemaDefs
from pappi.ppinot.notations.yaml.catalogue import CATALOGUE


def catalogue_schema() -> Json:
    definitions: SchemaDefs = {}
    root = CATALOGUE.schema(definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PaPPI catalogue",
        "description": "Process performance indicators about one event log",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """The schema as the committed file has it."""
    return json.dumps(catalogue_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
