"""The catalogue notation: PPIs in YAML or JSON, read and written from one description in `shapes`.

conditions  expressions, tests of an event, conditions, instants
measures    measures of one case and of many
scopes      periods, and which cases count
catalogue   PPIs and catalogues: `parse_catalogue`, `write_yaml`, `write_json`, the JSON Schema
"""

from pappi.ppinot.notations.yaml.catalogue import parse_catalogue, write_json, write_yaml
