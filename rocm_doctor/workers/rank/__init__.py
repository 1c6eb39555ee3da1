"""One rank of the smoke test's `collectives` (workers/smoke/collectives.py). Python 3.8 and torch, nothing of ours."""
