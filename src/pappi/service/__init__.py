"""The checkpoint and the owner's desk over HTTP: two applications, on two ports.

    settings      what can be set, and what it is set to
    problems      every error as problem+json, in words that are safe for the one who asks
    keys          who asks: bearer keys, roles and rights; denied by default
    limits        how much: sizes of bodies, rates, requests at once
    pace          when: an analyst's replies leave on a fixed time grid
    metrics       counts of requests, for Prometheus; nothing derived from data
    logs          a line of JSON per request; no body, no query, no value
    layers        all of the above around an application, in the order that keeps it safe
    routes        how a route is added, with its right and its documented failures
    models        what requests look like; `definitions`, `events`, `requests` read them
    reply_models  what replies look like; `replies`, `pages` write them
    analyst       the analyst's application
    owner         the owner's application
    running       both in one process, until it is told to stop

No module here knows the store or the engine: requests become calls of the two doors.
"""
