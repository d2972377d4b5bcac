"""The examples of each recipe, to train on, validate on and report on: read, split and guarded."""
