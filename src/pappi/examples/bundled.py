"""The examples that come with PaPPI: a log each, and a catalogue of PPIs for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pappi.examples.claims import simulate_claims
from pappi.examples.events import Event, write_csv, write_xes
from pappi.examples.hospital import simulate_hospital
from pappi.values import Terms

DIRECTORY = Path(__file__).parent

DEMO_EPSILON = "0.12"
"""The ε of each PPI: eight of them spend 0.96 of a month's budget of 1."""


@dataclass(frozen=True, slots=True)
class Example:
    """A log with its name, its time zone and a catalogue of PPIs.

    `expected_cases` is the declared number per month. `impossible` is a query that would tell
    nothing, if there is one: the catalogue has what is advised instead.
    """

    log: str
    about: str
    zone: str
    expected_cases: int
    file: str
    catalogue: str
    simulate: Callable[[], Iterator[Event]]
    impossible: str | None = None

    @property
    def terms(self) -> Terms:
        """To import the log with."""
        return Terms(timezone=self.zone, expected_cases=self.expected_cases)

    @property
    def catalogue_path(self) -> Path:
        return DIRECTORY / self.catalogue

    @property
    def impossible_path(self) -> Path | None:
        return DIRECTORY / self.impossible if self.impossible else None

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
                about="12,000 insurance claims of two years, with a storm in June 2025",
                zone="Europe/Berlin",
                expected_cases=500,
                file="claims.csv",
                catalogue="claims.yaml",
                simulate=simulate_claims,
            ),
            Example(
                log="sepsis",
                about="6,000 emergency patients of two years, shaped like the Sepsis log",
                zone="Europe/Amsterdam",
                expected_cases=250,
                file="sepsis.xes.gz",
                catalogue="sepsis.yaml",
                simulate=simulate_hospital,
                impossible="longest-stay.yaml",
            ),
        )
    }
)
