"""Experiments over pipelines: run a grid of them, compare runs, report what came out."""
