"""The report: history, references and the newest night as one static site that opens from disk.

sources: what is read. cell_results: what each cell was found to be, result by result. standing: what it is now. glance: the
first page's lists. appearance, words: how a verdict, a number, a name is shown. cell_drift, losses, charts, published, power:
what stands on the pages. pages: the pages themselves.
"""
