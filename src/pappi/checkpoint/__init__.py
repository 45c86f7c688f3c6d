"""The analyst's side of a workspace: plan, price, preview, charge, release, replay.

    protocol       `Session`: what an analyst can do, on this machine or over HTTP
    session        the session on this machine, the release protocol, when a result goes on record
    access         who asks, and what bounds a charge
    queries        definitions become plans, plans become releases; limits of one request
    derivation     what follows from the record, at no cost
    sets           PPIs under one total: what is on record of them, and who is new
    levels         a series and its whole time, sharing one ε
    prices         what an analyst sees before paying: quotes, prices, forecasts, budgets
    counts         how many cases earlier releases have told there are, for forecasts
    rehearsal      a release of made-up cases
    synthetic_log  the made-up cases
    audits         a plan as a subject of the audit
    draw           reading the cases and drawing the noise, after the charge
    answers        from released integers to answers and series; what bounds cut off
    shown          what a PPI shows of its figures: changes, windows, two figures compared
    subscriptions  reserved for future blocks, released as soon as each is sealed
    saved          an analyst's own list of queries
    views          what a session gives: quotes, budgets and answers in a notebook, and as frames

Every refusal happens before the charge, and so before any event is read.
"""

from typing import TYPE_CHECKING

from pappi.checkpoint.access import Caller, Permit
from pappi.checkpoint.prices import Price
from pappi.checkpoint.protocol import Session
from pappi.checkpoint.queries import (
    MOST_AT_ACCURACY,
    Amount,
    Ids,
    catalogue_of,
    epsilon_if_any,
    epsilon_of,
    refuse_both,
    refuse_too_many,
)
from pappi.checkpoint.session import (
    AT_ONCE,
    GRID_SECONDS,
    Clock,
    LocalSession,
    Pace,
    Run,
    on_grid,
    run_due,
    subjects_of,
    time_to_wait,
)
from pappi.checkpoint.subscriptions import end_all
from pappi.checkpoint.views import (
    Budget,
    Checked,
    PastRelease,
    Quotes,
    Released,
)
from pappi.lazy import lazy_imports

if TYPE_CHECKING:
    from pappi.checkpoint.levels import released_in_levels
else:
    __getattr__ = lazy_imports(__name__)
