"""Pipelines: what answers a turn, written as YAML."""
