"""Tasks on the nodes of a Ray cluster. Imports nothing of rocm_doctor; runs under the interpreter that has Ray."""
