"""The stages for frameworks of arrays: JAX and TensorFlow.

A stage is written once, against `context.py`: what a framework does in its own way is a method there, and `on_jax.py` and
`on_tensorflow.py` hold those. References are float64 in numpy (`references.py`), which both frameworks depend on.
"""
