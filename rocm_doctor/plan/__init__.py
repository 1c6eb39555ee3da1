"""What should I install? Stacks that work for a card, resolved against the matrix and judged by the same rules as `check`."""
