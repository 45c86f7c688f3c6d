"""Released answers, shown: one renderer for page, notebook, command line and document.

`charts` draws a series as SVG, `tree_chart` a PPI, `html` sets a whole report, `tables`
fills a terminal. Beneath them: `numbers` (never more digits than the noise allows),
`verdicts` (how an answer stands to its target) and `wording` (guarantees in plain words),
`scales`, `panels`, `lanes`, `marks`, `keys` and `tree_layout` (the geometry of a chart),
`palette` (colours that everyone can tell apart), `elements` and `plain` (nothing from
outside becomes markup).

Rendering is pure: it sees released answers and public facts, and returns text.
"""
