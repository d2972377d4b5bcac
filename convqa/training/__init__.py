"""Training recipes, one per model: each fits, validates and exports.

Settings, data and bases that no model can be made of raise InputError, which names file and place and says what to do.
"""
