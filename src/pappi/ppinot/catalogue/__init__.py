"""The catalogue notation: PPIs written in YAML or JSON.

document    text into nodes that know their line and column
shapes      the small language in which the notation is described once,
            for reading and for the JSON Schema alike
quantities, scopes, measures, indicators    that description
settling    what only the whole PPI can say: units, bounds and targets
read        files into the model
schema      the JSON Schema: python -m pappi.ppinot.catalogue.schema
"""

from pappi.ppinot.catalogue.read import parse_catalogue, read_catalogue

__all__ = ["parse_catalogue", "read_catalogue"]
