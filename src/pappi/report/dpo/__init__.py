"""The data-protection pack: one document, from the ledger and the declarations alone.

facts        what the document is made of
promise      the guarantee in sentences, and why its numbers are right
processing   the record of processing, and what is declared
releases     the cells of one question in one row
tables       the tables of the document
document     the document, and its body for a page
record       the same facts as plain data
style        what both are dressed in
"""
