"""The analysts' session and the owner's custody over HTTP: two applications, on two ports.

    settings    what can be set, and what it is set to
    problems    every error as problem+json, in words that are safe for the caller
    keys        authentication: bearer keys, sessions of the pages, rights; denied by default
    rates       how often somebody may do something
    telemetry   a line of JSON per request, and metrics for Prometheus; no body, no value
    middleware  all of the above around an application, in a safe order, with limits on sizes and
                concurrent requests; an analyst's replies leave on a fixed time grid
    routes      how a route is added, with its right and its documented failures
    models      what requests and replies look like; `pappi.session` has the codec that writes these
    analyst     the analyst's application
    owner       the owner's application
    running     both in one process, until it is told to stop; limits on connections
    web         the pages of both

No module here knows the store or the engine: requests become verbs of a session, or of custody.
"""

from pappi.service.running import Address, Addresses, serve
from pappi.service.settings import Settings
