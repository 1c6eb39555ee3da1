"""The cure for a finding and its facts: data under compat_matrix/cures, chosen by conditions and filled with values of the report."""
