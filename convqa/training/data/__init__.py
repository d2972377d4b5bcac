"""The training, validation and report examples of each recipe, free of overlap."""
