"""Released answers and previews, shown: one renderer for page, notebook, command line, document.

`charts` draws a series as SVG, `tree_chart` a PPI with its admissible sets, `error_chart` how
far off it will be, `gauge` the budget; `html` sets a whole report, `previews` what would be
asked, `tables` and `quotes` fill a terminal. Every drawing comes bare, for a page with
`CHART_CSS`, and alone (`figures.standalone`), and has a table of its numbers.

Beneath them: `numbers` (never more digits than the noise allows), `verdicts` (how an answer
stands to its target), `wording` and `forecasts` (guarantees, and how long a budget lasts, in
plain words), `figures`, `scales`, `panels`, `lanes`, `marks`, `keys` and `tree_layout` (the
geometry of a chart), `palette` (colours that everyone can tell apart), `elements` and `plain`
(nothing from outside becomes markup). `dpo` and its parts make the data-protection pack.

Rendering is pure: it sees released answers and public facts, and returns text.
"""
