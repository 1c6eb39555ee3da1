"""One exchange with an OpenAI-compatible server: the only place of rocm-doctor that opens a connection, and only for `--reader`."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

LONGEST = 1 << 20
"""Bytes of a response that are read."""
SECONDS = 120.0
"""Limit of one exchange, from the connection to the last byte. A small model on a processor writes a few words a second."""
_TOKENS = 3_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Reader(NamedTuple):
    """The server to ask. `key`: from the environment; it goes to loopback or over TLS only."""

    url: str
    model: str
    key: str = ""
    seconds: float = SECONDS

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


class Silent(Exception):
    """The server gave no answer; the text says why, in one line."""


def address_fault(reader: Reader) -> str:
    """What is wrong with the reader, as one sentence for the user; empty if nothing is. Faults: the address is not an http(s)
    URL, the name of the model is missing, or the key would go over plain http to another machine."""
    try:
        at = urlsplit(reader.url)
        good = at.scheme in ("http", "https") and bool(at.hostname) and (at.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        return f"--reader {reader.url}: not an address like http://localhost:11434/v1"
    if not reader.model:
        return "--reader needs the name of a model: --reader-model qwen3:8b"
    if reader.key and at.scheme == "http" and at.hostname not in _LOOPBACK:
        return f"--reader {reader.url}: the key in the environment is sent over https only, or to this machine"
    return ""


def body(model: str, messages: Sequence[dict[str, str]], form: Any) -> dict[str, Any]:
    """The body of a question: model and messages, and what shapes the answer."""
    schema = {"type": "json_schema", "json_schema": {"name": "opinion", "strict": True, "schema": form}}
    return {"model": model, "messages": messages, "response_format": schema, "temperature": 0, "max_tokens": _TOKENS}


def ask(reader: Reader, messages: Sequence[dict[str, str]], form: Any) -> str:
    """The text that the model answers. A server that refuses what shapes the answer (HTTP 400, 422) is asked once more without
    it. Raises Silent if there is no answer in time, another status, another form of response, a refusal, or an empty text."""
    shaped = body(reader.model, messages, form)
    plain = {name: shaped[name] for name in ("model", "messages")}
    end = time.monotonic() + reader.seconds
    status, data = post(reader, shaped, end)
    if status in (400, 422):
        status, data = post(reader, plain, end)
    try:
        said = msgspec.json.decode(data)
        if status != 200:
            raise Silent(f"HTTP {status}: {' '.join(str(said['error']['message']).split())[:120]}")
        message = said["choices"][0]["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (msgspec.MsgspecError, LookupError, TypeError, AttributeError, UnicodeError, RecursionError):
        raise Silent(f"HTTP {status}, and not the response of an OpenAI-compatible server") from None
    if refusal or not isinstance(content, str) or not content:
        raise Silent("the model refused" if refusal else "the model said nothing")
    return content


def post(reader: Reader, content: Any, end: float) -> tuple[int, bytes]:
    """(status, body) of one POST. Redirects are not followed: the text goes to the named server or nowhere. Raises Silent if
    there is no answer before `end` (time.monotonic()), if the connection fails, or if the body is over LONGEST."""
    at = urlsplit(reader.url)
    late, left = f"no answer within {reader.seconds:.0f} s", max(0.1, end - time.monotonic())
    kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
    connection = kind(at.hostname or "", at.port, timeout=left)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {reader.key}"} if reader.key else {})
    over = None
    try:
        connection.connect()
        # The limit of a socket begins anew with every byte: a server that drips is cut off here.
        over = threading.Timer(end - time.monotonic(), _cut, [connection.sock])
        over.daemon = True
        over.start()
        connection.request("POST", f"{at.path.rstrip('/')}/chat/completions", msgspec.json.encode(content), headers)
        response = connection.getresponse()
        data = response.read(LONGEST + 1)
    except ValueError:  # its text would have the key
        raise Silent("the address or the key has a character that HTTP does not take") from None
    except (OSError, http.client.HTTPException) as exc:
        words = (getattr(exc, "strerror", None) or str(exc) or type(exc).__name__).splitlines()[0][:120]
        raise Silent(late if time.monotonic() >= end else words) from exc
    finally:
        if over:
            over.cancel()
        connection.close()
    if time.monotonic() >= end:
        raise Silent(late)
    if len(data) > LONGEST:
        raise Silent(f"its response is longer than {LONGEST >> 20} MiB")
    return response.status, data


def _cut(sock: Any) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
