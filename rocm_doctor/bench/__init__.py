"""`bench` measures a GPU and says whether it is slow and why; `tune` finds the fastest configuration of a training run."""
