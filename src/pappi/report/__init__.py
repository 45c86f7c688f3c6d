"""Rendering of released answers and previews, for page, notebook, command line and document.

series_chart   a series as SVG; error_chart: how far off a PPI is expected to be; gauge: the
               budget; tree_chart: a PPI with its admissible sets, in words and as a picture
drawing        what all charts share: frames, axes of values, keys
pages          the report of a release and the preview of one, as documents
dpo            the data-protection pack; dpo_facts: what it is made of
tables         the same in a terminal; records: as rows, for CSV and data frames
profile        a log's profile, for its owner: the only text here that shows raw data
wording        verdicts, guarantees, forecasts and logs in plain words
numbers        never more digits than the noise allows; text from outside
markup         HTML and SVG in which everything is escaped; colours that everyone can tell apart

Every drawing comes bare, for a page with `CHART_CSS`, or `standalone`, and has a table of its
numbers. Rendering is pure: it sees released answers and public facts (`profile`: what the
owner may see), and returns text.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports

if TYPE_CHECKING:
    from pappi.report.dpo import dpo_body, dpo_html, pack_record
    from pappi.report.dpo_facts import (
        Act,
        Chain,
        Erasure,
        LogFacts,
        Look,
        Pack,
        RecordedCell,
        Share,
        State,
        most_in_a_block,
        query_digest,
        rows_of,
    )
    from pappi.report.drawing import standalone
    from pappi.report.error_chart import error_caption, error_figure, error_table
    from pappi.report.gauge import budget_gauge, budget_strip, budget_text, gauge_table
    from pappi.report.markup import (
        DPO_CSS,
        PAGE_CSS,
        Element,
        bdi,
        document_html,
        el,
        painted,
        prose,
        table,
    )
    from pappi.report.numbers import (
        count_text,
        error_text,
        printable,
        shortened,
        size_text,
        three_digits,
        to_the_minute,
    )
    from pappi.report.pages import preview_html, report_html, series_card, series_html
    from pappi.report.profile import (
        personal_lines,
        profile_record,
        profile_text,
        short_profile,
    )
    from pappi.report.records import csv_text, flat_records
    from pappi.report.series_chart import series_svg
    from pappi.report.tables import (
        advice_lines,
        advice_table,
        alternatives_table,
        answers_table,
        budget_table,
        exact_table,
        nothing_said,
        options_table,
        overview_table,
        quantiles_table,
        quotes_table,
        set_lines,
        table_html,
        table_text,
        with_record_lines,
    )
    from pappi.report.tree_chart import composition_figure, composition_table, ppi_svg, ppi_text
    from pappi.report.wording import (
        alternative_cells,
        assumption_text,
        at_most_text,
        attributes_with_kinds,
        chance_text,
        charged_text,
        cheapest_text,
        compares,
        comparison_lines,
        describe_log,
        describe_vocabulary,
        epsilon_text,
        expected_text,
        forecast_lines,
        horizon_text,
        key_state,
        least_left,
        left_text,
        mostly_text,
        neighbours_text,
        nothing_text,
        percent,
        star_lines,
        tally_text,
        tightest,
        typical_text,
    )
else:
    __getattr__ = lazy_imports(__name__)
