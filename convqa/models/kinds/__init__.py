"""What is loaded: each module loads the models of one kind and runs them on texts."""
