"""The report: history, references and the newest night as one static site that opens from disk.

sources: what is read. looks: what each cell was found to be, look by look. standing: what it is now. verdicts: how that is shown.
losses, charts, published, power: what stands on the pages. pages: the pages themselves.
"""
