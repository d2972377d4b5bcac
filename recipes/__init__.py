"""The making of the shipped models' examples from public corpora, each module for the recipe of its name.

``python -m recipes.RECIPE DATA EXAMPLES`` reads the downloaded sets in DATA and writes the files that
``convqa train RECIPE --data EXAMPLES`` reads. docs/reference/training.md lists the sets and the splits.
"""
