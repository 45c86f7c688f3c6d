"""The examples that come with PaPPI: a log each, and a catalogue of PPIs for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pappi.examples.claims import simulate_claims
from pappi.examples.events import Event, write_csv, write_xes
from pappi.examples.hospital import simulate_hospital

DIRECTORY = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Example:
    """A log under its name, where its clocks stand, and what to ask of it."""

    log: str
    about: str
    zone: str
    file: str
    catalogue: str
    simulate: Callable[[], Iterator[Event]]

    @property
    def catalogue_path(self) -> Path:
        return DIRECTORY / self.catalogue

    def write_log(self, directory: str | Path = ".") -> Path:
        """The simulated log as a file in that directory, in the format of its name."""
        path = Path(directory) / self.file
        write = write_csv if ".csv" in path.suffixes else write_xes
        write(self.simulate(), path)
        return path


EXAMPLES: Mapping[str, Example] = MappingProxyType(
    {
        example.log: example
        for example in (
            Example(
                log="claims",
                about="12,000 insurance claims of two years: the paper's running example",
                zone="Europe/Berlin",
                file="claims.csv",
                catalogue="claims.yaml",
                simulate=simulate_claims,
            ),
            Example(
                log="sepsis",
                about="6,000 emergency patients of two years, shaped like the Sepsis log",
                zone="Europe/Amsterdam",
                file="sepsis.xes.gz",
                catalogue="sepsis.yaml",
                simulate=simulate_hospital,
            ),
        )
    }
)
