"""PPINOT: what a process performance indicator is, and how it is written.

    model        measures, scopes, targets: typed, immutable, with what holds of them without data
    expressions  the closed grammar of conditions and formulas: its syntax and kinds of values;
                 `grammar` reads and writes them, `evaluation` gives their value
    checks       every problem of a definition against a log's public vocabulary
    canonical    one form for each query: default bounds, the reduced form, what a key hashes
    tree         the composition tree, admissible sets, aggregates, and what is computed above them
    notations    catalogues as YAML, sentences, Java's JSON, BPMN or ppinot4py objects; and built
                 in Python (`builder`: mean, share, time, …)
    understanding  sentences in everyday words, by the public names of a log: ranked readings
    views        what is shown of a PPI's figures: changes, rolling windows, two groups

The shapes of the YAML notation (Field, Record, Written, …) are exported too: other files that
people write by hand are read with them.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.ppinot.canonical import (
    anchor_time,
    canonical_form,
    reduced_form,
    with_counts,
    with_default_bounds,
)
from pappi.ppinot.checks import check_catalogue, require_sound
from pappi.ppinot.expressions import (
    AnyLiteral,
    Apply,
    Binary,
    Choose,
    DurationLiteral,
    Expression,
    Function,
    InstantLiteral,
    IsMissing,
    Name,
    Negate,
    Not,
    NumberLiteral,
    OneOf,
    Operator,
    TextLiteral,
    TruthLiteral,
)
from pappi.ppinot.grammar import render
from pappi.ppinot.model import (
    EVERY_CASE,
    AggregatedMeasure,
    Aggregation,
    Bounding,
    Catalogue,
    ConditionMeasure,
    CountMeasure,
    Cycles,
    DataMeasure,
    DerivedMultiInstance,
    DerivedSingleInstance,
    EventCondition,
    EventSequence,
    Grouping,
    Missing,
    Moment,
    MultiInstance,
    NoiseOn,
    Occurrence,
    Occurs,
    OpenCycle,
    Order,
    Pick,
    Ppi,
    ReleaseChoice,
    Scope,
    SingleInstance,
    StateMeasure,
    Target,
    TimeMeasure,
    Wanted,
    all_present,
    base_query,
    is_total,
    measure_kind,
    ordinal,
    spans_case,
)
from pappi.ppinot.notations import (
    FORMATS,
    WRITTEN,
    Definitions,
    Notation,
    definitions_in,
    notation_of,
    parse_definitions,
    read_definitions,
    text_of,
    write_definitions,
)
from pappi.ppinot.notations.document import Problems, ScalarNode, file_text, read_document
from pappi.ppinot.notations.shapes import (
    Entries,
    Field,
    ListOf,
    Record,
    Values,
    Written,
    one_word_of,
)
from pappi.ppinot.notations.yaml import parse_catalogue, write_yaml
from pappi.ppinot.tree import (
    ROOT,
    VALUE,
    AdmissibleSet,
    Inner,
    Node,
    Range,
    admissible_sets,
    aggregate,
    aggregated_measures,
    aggregates,
    composition_tree,
    counted,
    exact_sum,
    function_name,
    functions,
    is_arithmetic,
    leaves,
    range_above,
    value_above,
    values_above,
)
from pappi.ppinot.views import (
    Between,
    Change,
    Comparing,
    Rolling,
    ToDate,
    added_up,
    compared_pairs,
    parse_view,
    periods_rolled,
)

if TYPE_CHECKING:
    from pappi.ppinot.notations.builder import (
        CaseMeasure,
        Event,
        Indicator,
        catalogue,
        count,
        data,
        derive,
        event,
        first,
        last,
        max_of,
        mean,
        median,
        min_of,
        number,
        occurs,
        percentile,
        sequence,
        share,
        state,
        sum_of,
        time,
    )
    from pappi.ppinot.notations.document import quoted_text
    from pappi.ppinot.notations.java import ignored_by_java
    from pappi.ppinot.notations.objects import from_ppinot4py
    from pappi.ppinot.notations.sentences import phrase, sentence
    from pappi.ppinot.understanding import Reading, Understanding, understand
else:
    __getattr__ = lazy_imports(__name__)
