"""What to do about a finding: `choose` takes the cure that fits best, `values` fills it in, `offer` decides what is told to type for it."""
