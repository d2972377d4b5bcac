"""The kinds of models: each module loads one kind and applies it to texts."""
