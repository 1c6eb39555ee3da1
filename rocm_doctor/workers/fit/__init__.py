"""The part of `rocm-doctor fit` that runs in the examined interpreter. Stand-alone: Python 3.8, torch and transformers, nothing
of ours."""
