"""The pages: an analyst's workbench and the owner's console, rendered here and sent as HTML.

rendering   templates to HTML, everything escaped; style sheets and script; around every page its
            headers, its origin, errors as pages
forms       what a form sent, and what was wrong with it
sign_in     sign-in and sign-out
workbench/  the analyst's pages
console/    the owner's pages

Everything works without a script; the one there is saves clicks. Nothing is loaded from
anywhere else, and nothing in a page can run or style itself: charts carry classes only.
"""
