"""A second judge beside the rows: it weighs words, facts and findings together, and gives each diagnosis a probability.

`complaint.py` cuts the words of the person out of a report, `features.py` names what speaks, `model.py` weighs it. The weights
are learned by scripts/train_differential.py from the labelled reports in fixtures/reports.
"""
