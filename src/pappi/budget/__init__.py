"""The rules of spending epsilon: accounts, charges, and the journal that proves them.

`accounts` says when a question may be charged, `chain` makes a journal tamper-evident,
`journal` says what its entries mean. All pure: where the journal is kept is `store`'s job.
"""
