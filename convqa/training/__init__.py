"""One readable recipe a model: made of its settings, it fits, validates and exports.

Settings, data and bases that no model can be made of raise InputError, which names file and place and says what to do.
"""
