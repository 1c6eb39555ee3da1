from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.sources.paste import decode
from rocm_doctor.sources.paste.clean import clean


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (b"plain\n", "plain\n"),
        (b"\xef\xbb\xbfbom\n", "bom\n"),
        ("45 °C\n".encode(), "45 °C\n"),
        ("45 °C\n".encode("latin-1"), "45 °C\n"),
        ("PowerShell\r\n".encode("utf-16"), "PowerShell\r\n"),
        ("no mark at all\n".encode("utf-16-le"), "no mark at all\n"),
        ("no mark at all\n".encode("utf-16-be"), "no mark at all\n"),
        (b"nul\0s\n", "nuls\n"),
        ("名前 同様".encode()[:-1], "名前 同\ufffd"),
        (b"", ""),
    ],
)
def test_decode(data: bytes, want: str) -> None:
    assert decode(data) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("\x1b[37mROCk module is loaded\x1b[0m", "ROCk module is loaded"),
        ("[31mROCk module is loaded[0m", "ROCk module is loaded"),
        ("[01;32muser@host[00m:~$", "user@host:~$"),
        ("^[[1;31mred^[[0m and \\033[31mred\\033[0m", "red and red"),
        ("\x1b[?2004h\x1b]0;user@host: ~\x07$ rocm-smi\r\n\x1b[?2004l\r\n", "$ rocm-smi\n\n"),
        ("[?2004h$ x", "$ x"),
        ("> quoted\n> > twice\n>>> import torch\n> >>> import peft\n", "quoted\ntwice\n>>> import torch\n>>> import peft\n"),
        ('<pre><font color="#CC0000">ROCk module is NOT loaded</font></pre>', "ROCk module is NOT loaded"),
        ("UUID: <redacted> &lt;b&gt; &amp; &#39;x&#39;", "UUID: <redacted> <b> & 'x'"),
        ("2026-01-02T03:04:05.1234567Z GPU: 0\n", "GPU: 0\n"),
        ("a\r\nb\r\r\nc\n", "a\nb\nc\n"),
        ("10%\r20%\r30%\n", "10% 20% 30%\n"),
        ("old\rmac\r", "old\nmac\n"),
        ("a\u00a0b\x0cc\u2028d\x85e\n", "a b c d e\n"),
        ("x[5] y[m] [0] [16m", "x[5] y[m] [0] "),
        ("GPU[0] : Card Series: a", "GPU[0] : Card Series: a"),
    ],
)
def test_clean(text: str, want: str) -> None:
    assert clean(text) == want


@given(st.text(max_size=300))
def test_every_line_stays_at_its_number(text: str) -> None:
    text = text.replace("\r", "")
    cleaned = clean(text)
    assert cleaned.count("\n") == text.count("\n")
    assert len(cleaned.splitlines()) <= cleaned.count("\n") + 1


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded(data: bytes) -> None:
    assert "\0" not in decode(data)
    clean(decode(data))


@given(
    st.lists(
        st.sampled_from(
            ["\x1b[31m", "[0m", "> ", "<b>", "</b>", "&lt;", "^[[1m", "\r\n", "\n", "GPU[0] : x", "\x1b]0;t\x07", "é"]
        ),
        max_size=40,
    )
)
def test_cleaned_text_is_clean(parts: list[str]) -> None:
    cleaned = clean("".join(parts))
    assert "\x1b" not in cleaned
    assert "\r" not in cleaned
