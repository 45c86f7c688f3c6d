"""The pages: an analyst's workbench and the owner's console, rendered here and sent as HTML.

rendering   templates to HTML, everything escaped; style sheets and script; what a form sent
sign_in     sign-in and sign-out
workbench   the analyst's pages
composing   ... a query put together from sentences with blanks, without knowing the notation
console     the owner's pages

Everything works without a script; the one there is saves clicks. Nothing is loaded from
anywhere else, and nothing in a page can run or style itself: charts carry classes only.
"""
