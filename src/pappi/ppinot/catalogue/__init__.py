"""The catalogue notation: PPIs written in YAML or JSON.

document    text into nodes that know their line and column
shapes      the small language in which the notation is described once,
            for reading and for the JSON Schema alike
indicators  that description, with a module for each part: conditions, instants, case_measures,
            measures, quantities, targets, scopes, chosen_cases, calendars, releases
settling    what only the whole PPI can say: its units and bounds
read        files into the model
schema      the JSON Schema: python -m pappi.ppinot.catalogue.schema
writing     the model into YAML or JSON, with written_… for each part, and plain for the text
"""

from pappi.ppinot.catalogue.read import parse_catalogue, read_catalogue
from pappi.ppinot.catalogue.writing import write_json, write_yaml

__all__ = ["parse_catalogue", "read_catalogue", "write_json", "write_yaml"]
