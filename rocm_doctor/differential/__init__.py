"""What a text reads like, where no row and no rule decides: likely diagnoses, and solved reports.

`complaint.py` cuts the words of the person out of a text, `features.py` names its features, `model.py` weighs them. The weights are
learned by scripts/train_differential.py from the labelled reports in fixtures/reports.
"""
