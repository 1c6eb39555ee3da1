"""Runs the smoke test: a child for each GPU (device_queue.py), its events as artifacts (runner.py), the results in words (summary.py)."""
