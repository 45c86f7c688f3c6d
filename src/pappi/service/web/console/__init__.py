"""The owner's pages: what was asked, what it cost, what is left, and who may ask.

desk          what every page has: a door, the visitor's rights, the stop banner
wrongs        forms that could not be carried out, shown again with what was typed
overview      every log at a glance (strips), the latest charges, the stop switch
charges       charges as rows that can be read
log_page      one log: declarations (log_facts), budgets, analysts, charges
logs          … and the forms about it: budgets, shares, sealing
erasing       … and deletion, in two steps
keys          keys: issued, shown once, revoked
trail         the record of everything in words (entry_words), and whether it verifies
protection    the data-protection pack
"""

from pappi.service.web.console.adding import add_console

__all__ = ["add_console"]
