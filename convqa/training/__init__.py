"""Training recipes, one per model. Each fits, validates and exports a model.

Unusable settings, data and base models raise InputError.
"""

from __future__ import annotations

RECIPES = ("query_encoder", "reader", "resolver")
