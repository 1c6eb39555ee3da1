"""A second opinion by a language model, only when it is asked for: what is sent (`prompt`), the exchange (`server`), and the proof of
what comes back (`known`, `proof`). Nothing of a report but its `opinion` depends on the answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Opinion, Report
from rocm_doctor.reader.server import Reader


def question(report: Report, artifacts: Sequence[Artifact], model: str, matrix: Matrix) -> bytes:
    """Exactly what would be sent for the report, as JSON."""
    from rocm_doctor.reader.answer import FORM
    from rocm_doctor.reader.prompt import messages
    from rocm_doctor.reader.server import body

    return msgspec.json.format(msgspec.json.encode(body(model, messages(*_redacted(report, artifacts), matrix), FORM)), indent=1)


def with_opinion(report: Report, artifacts: Sequence[Artifact], reader: Reader, matrix: Matrix) -> Report:
    """The report with the proven opinion of a reader, or with the reason why there is none."""
    from rocm_doctor.bounded import Unreadable
    from rocm_doctor.reader.answer import FORM, read
    from rocm_doctor.reader.prompt import messages
    from rocm_doctor.reader.proof import proven
    from rocm_doctor.reader.server import Silent, ask

    shown, texts = _redacted(report, artifacts)
    opinion = Opinion(reader.model, reader.host)
    try:
        told = read(ask(reader, messages(shown, texts, matrix), FORM))
        opinion = msgspec.structs.replace(opinion, causes=proven(told, shown, texts, matrix))
    except Silent as exc:
        opinion = msgspec.structs.replace(opinion, failure=str(exc))
    except Unreadable as exc:
        opinion = msgspec.structs.replace(opinion, failure=f"its answer does not have the asked form ({exc})"[:200])
    except KeyboardInterrupt:
        opinion = msgspec.structs.replace(opinion, failure="interrupted")
    return msgspec.structs.replace(report, opinion=opinion)


def _redacted(report: Report, artifacts: Sequence[Artifact]) -> tuple[Report, list[Artifact]]:
    from rocm_doctor.redaction.shared import for_reports, having_read, redact_artifacts, redact_report

    redactor = having_read(artifacts, for_reports([report]))
    return redact_report(report, redactor), redact_artifacts(list(artifacts), redactor)
