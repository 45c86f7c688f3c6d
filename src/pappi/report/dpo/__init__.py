"""The data-protection pack: one document, from the ledger and the declarations alone.

facts        what the document is made of; the cells of one query are one row
promise      the guarantee in sentences, and why its numbers are right
processing   the record of processing, and what is declared
document     the document with its tables, and its body for a page
record       the same facts as plain data
"""
