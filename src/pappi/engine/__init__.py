"""From events to one row per case, in the database where the events live.

Only `custody` and `checkpoint` may import this package: what it returns is the data itself.

    cases          runs a query on a log, wherever its events are, and gives
    table          the table of cases, from which the cases of each period are taken

    query          the measures of a run as one query, made of
    bases          base measures: an aggregate over the events of a case each; working time
    expressions    expressions and names as SQL nodes; the events read, and where conditions occur
    folding        base measures without the database, where events are stored case by case

    duck           the workspace's own file, by DuckDB
    parquet        Parquet files in place, by DuckDB
    foreign        what other databases are asked, postgres and spark: their own tables, seen as
                   events, and their failures
"""

from pappi.engine.bases import Identify
from pappi.engine.cases import (
    Survey,
    case_level,
    cases_by_period,
    evaluate_cases,
    source_columns,
    survey,
)
from pappi.engine.table import CaseTable, Groups, read_by
