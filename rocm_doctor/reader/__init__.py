"""A second opinion by a language model, only when it is asked for: what is sent (`prompt`), the exchange (`server`), and the proof of
what comes back (`proof`). Nothing of a report but its `opinion` depends on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Cause, Opinion, Report

if TYPE_CHECKING:
    from rocm_doctor.reader.server import Reader


def question(report: Report, artifacts: Sequence[Artifact], model: str, matrix: Matrix) -> bytes:
    """Exactly what would be sent for the report, as JSON."""
    from rocm_doctor.reader.answer import FORM
    from rocm_doctor.reader.prompt import messages
    from rocm_doctor.reader.server import body

    return msgspec.json.format(
        msgspec.json.encode(body(model, messages(*redact_both(report, artifacts), matrix), FORM)), indent=1
    )


def add_opinion(report: Report, artifacts: Sequence[Artifact], reader: Reader, matrix: Matrix) -> Report:
    """The report with the proven opinion of a reader, or with the reason why there is none."""
    from rocm_doctor.bounded import Unreadable
    from rocm_doctor.reader.answer import FORM, read
    from rocm_doctor.reader.prompt import messages
    from rocm_doctor.reader.proof import proven
    from rocm_doctor.reader.server import Silent, ask

    shown, texts = redact_both(report, artifacts)
    causes: tuple[Cause, ...] = ()
    failure = "the model named no cause"
    try:
        causes = proven(read(ask(reader, messages(shown, texts, matrix), FORM)), shown, texts, matrix)
    except Silent as exc:
        failure = str(exc)
    except Unreadable as exc:
        failure = f"its answer does not have the asked form ({exc})"[:200]
    return msgspec.structs.replace(report, opinion=Opinion(reader.model, reader.host, causes, "" if causes else failure))


def redact_both(report: Report, artifacts: Sequence[Artifact]) -> tuple[Report, list[Artifact]]:
    """(report, artifacts) redacted, with the same pseudonyms in both."""
    from rocm_doctor.redaction.shared import learn_artifacts, redact_artifacts, redact_report, redactor_for_reports

    redactor = learn_artifacts(artifacts, redactor_for_reports([report]))
    return redact_report(report, redactor), redact_artifacts(list(artifacts), redactor)
