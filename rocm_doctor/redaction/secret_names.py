"""Names of environment variables that hold secrets. A module of its own: every command needs it, few need all of redaction."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex

SECRET_NAME = regex(
    r"TOKENS?(?![A-Z])|SECRET|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|_(?:AUTH|PASS|PWD|PAT|KEY)$",
    re.I,
)
"""Names of variables whose value is nobody's business, whatever it looks like (TOKENIZERS_PARALLELISM is none of them)."""
