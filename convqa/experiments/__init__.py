"""Experiments over pipelines: ablations, comparisons of runs, and reports."""
