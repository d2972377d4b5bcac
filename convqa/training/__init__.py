"""One readable recipe a model: setup, fit, validate, export."""
