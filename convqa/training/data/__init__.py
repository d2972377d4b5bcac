"""What is trained on, validated on and reported on: the examples of each recipe, read, split and guarded."""
