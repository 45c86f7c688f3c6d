"""The pages: an analyst's workbench and the owner's console, rendered here and sent as HTML.

rendering     templates to HTML, everything escaped
presented     what stands around every page: its headers, its origin, failures to be read
forms         what a page's form sent
signing       the way in and out; style sheets and script
workbench/    the analyst's pages
console/      the owner's pages

Everything works without a script; the one there is saves clicks. Nothing is loaded from
anywhere else, and nothing in a page can run or style itself: charts carry classes only.
"""
