"""The peak memory of a training run: a `Job` (job.py), simulated (runner.py, allocator.py) or by arithmetic (closed_form.py), judged for a
GPU (card.py, estimate.py), with what else would be enough (advice.py)."""
