"""The catalogue notation: PPIs in YAML or JSON, read and written from one description.

shapes      the small language of that description: it reads, writes and makes the JSON Schema
conditions  expressions, tests of an event, conditions, instants
quantities  numbers with units: bounds, epsilon, targets, and what only the whole PPI tells of them
measures    measures of one case and of many
scopes      periods, and which cases count
catalogue   PPIs and catalogues: `parse_catalogue`, `write_yaml`, `write_json`
layout      mappings, lists and texts laid out as YAML or JSON
schema      the JSON Schema: python -m pappi.ppinot.notations.yaml.schema
"""

from pappi.ppinot.notations.yaml.catalogue import parse_catalogue, write_json, write_yaml

__all__ = ["parse_catalogue", "write_json", "write_yaml"]
