"""What should I install? Stacks that work for a GPU, resolved against the matrix and judged by the same rules as `check`."""
