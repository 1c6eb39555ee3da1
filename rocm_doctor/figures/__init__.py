"""Measured figures of a GPU (TFLOP/s, GB/s, tokens/s), what they are compared with, and whether one is slow."""
