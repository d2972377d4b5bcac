"""Members of the station; the dotted path of a class is its name in a pipeline."""
