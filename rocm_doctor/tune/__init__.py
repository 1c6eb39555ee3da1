"""`tune`: the fastest configuration of a training run that fits, by prediction first and short measured runs after it."""
