"""The host's name and machine id, or the host that a text names in prompts, log stamps or `uname -a`, if it names only one.

    ==> paste/text <==
    ada@trainbox:~$ rocminfo
    ROCk module is loaded

>>> print(probe(sample))
host.hostname = trainbox
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_READ = 200_000
"""Characters of a text that are searched for the host."""
_BUILDER = regex(r"Linux version \S+ \([^)\n]{0,200}\)")
"""The host that built a kernel, which is not the user's."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """host.hostname; host.id, a hash of the machine id."""
    result = ProbeResult()
    known = read_keys(artifacts.get("host"), ":")
    for key, fact in (("name", "host.hostname"), ("id", "host.id")):
        if key in known and "<" not in known[key].value:  # <host-1> in a redacted bundle
            result.record(fact, known[key].value, known[key].reading)
    for artifact in artifacts.like("paste/text*", "log/*"):
        from rocm_doctor.redaction.find import find_hosts  # hundreds of patterns, which a machine without a text does not need

        text = _BUILDER.sub("", artifact.text[:_READ])
        found = {name.casefold(): name for name in find_hosts(text)}
        if len(found) == 1:
            name = next(iter(found.values()))
            at = artifact.text.count("\n", 0, artifact.text.find(name)) + 1
            result.record("host.hostname", name, Reading(artifact.name, f"line {at}", name))
    return result
