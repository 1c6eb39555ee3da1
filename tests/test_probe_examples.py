"""The docstring of every probe shows a text that it reads and the facts that come out, and both are true."""

from __future__ import annotations

import doctest
import re
from importlib import import_module

import pytest
from text_probes import NAMES

from rocm_doctor.model import Artifact
from rocm_doctor.probes import PROBES
from rocm_doctor.probes.read.result import Artifacts

_HEAD = re.compile(r"^    ==> (.+?)(?: \((timeout|crashed)\))? <==$", re.MULTILINE)
_END = re.compile(r"^(?! {4}|$)", re.MULTILINE)


def sample(docstring: str) -> Artifacts:
    """The artifacts that a docstring shows as `head` prints files: `==> NAME <==` and the text, indented by four.

    `==> NAME (timeout) <==` is a tool that gave no output; its text is the note.
    """
    heads = list(_HEAD.finditer(docstring))
    if not heads:
        return Artifacts(())
    end = _END.search(docstring, heads[-1].end() + 1)
    assert end, "the example runs into the end of the docstring"
    stops = [*(head.start() for head in heads[1:]), end.start()]
    items = []
    for head, stop in zip(heads, stops, strict=True):
        name, missing = head.groups()
        text = "\n".join(line[4:] for line in docstring[head.end() : stop].strip("\n").split("\n"))
        read = {"missing": missing, "note": text} if missing else {"text": f"{text}\n"}
        items.append(Artifact(name, "paste" if name.startswith("paste/") else "bundle", **read))
    return Artifacts(items, lambda: NAMES)


@pytest.mark.parametrize("name", [name for name, _ in PROBES])
def test_the_example_of_a_probe_is_true(name: str) -> None:
    module = import_module(f"rocm_doctor.probes.{name}")
    assert module.__doc__
    artifacts = sample(module.__doc__)
    assert artifacts.items, "show a text that the probe reads: `==> NAME <==` and the text below it"
    example = doctest.DocTestParser().get_doctest(
        module.__doc__, {"probe": module.probe, "sample": artifacts}, name, module.__file__, 0
    )
    assert example.examples, "show what comes out: `>>> print(probe(sample))`"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not runner.run(example, out=report.append).failed, "".join(report)
    assert any(one.want.strip() for one in example.examples), "the example must show facts"
