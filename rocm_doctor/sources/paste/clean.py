"""Pasted text made readable: terminal codes, quoting, markup and odd line ends removed, every line kept at its own number."""

from __future__ import annotations

import html
import re

from rocm_doctor.bounded.patterns import regex

_ESCAPES = regex(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves, whole
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # window titles and other strings
    r"|\x1b[ -/]*[0-~]?"
)
_LOST_ESCAPES = regex(r"(?:\u241b|\ufffd|\^\[|\\x1b|\\033|\\e)?\[(?:\d{1,3}(?:;\d{1,3}){0,4}m|\?\d{1,4}[hl])")
"""Colour codes whose escape byte was lost, or spelled out (`^[[31m`, `\\033[0m`)."""
_TAGS = regex(
    r"</?(?:pre|font|b|i|u|em|strong|span|div|p|br|hr|code|samp|kbd|tt|a|ul|ol|li|h[1-6]|table|thead|tbody|tr|td|th"
    r"|details|summary|blockquote|sub|sup|html|body)(?:\s[^<>\n]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY = regex(r"&(?:lt|gt|amp|quot|nbsp|apos|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_QUOTING = regex(r"^(?:[ \t]{0,3}>(?!>> )[ \t]?){1,50}", re.MULTILINE)
_QUOTED = ("", " ", "  ", "   ", "\t")
_STAMP = regex(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}Z ", re.MULTILINE)
_BLANKS = "\u00a0\u2007\u202f\u200b\u2060\ufeff"
_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
# Control characters go; what `str.splitlines` treats as a line end becomes a blank, so line numbers match those of an editor.
_CONTROLS = {
    **dict.fromkeys((c for c in range(0x20) if c not in (0x09, 0x0A)), None),
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), None),
    **dict.fromkeys(map(ord, _BREAKS + _BLANKS), " "),
}
_CONTROL = regex("[" + re.escape("".join(map(chr, _CONTROLS))) + "]")
_PLAIN = bytes([0x09, 0x0A, *range(0x20, 0x7F)])
"""Bytes that a text may hold as it is: one with no others needs no closer look."""


def decode(data: bytes) -> str:
    """Bytes of any origin as text: UTF-8 with or without BOM, UTF-16 as PowerShell's `>` writes it, else Latin-1."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace").replace("\0", "")
    sample = data[:4096]
    for codec, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        if len(zeros) > 3 and zeros.count(0) > 0.7 * len(zeros):
            return data.decode(codec, errors="replace").replace("\0", "")
    try:
        return data.decode("utf-8-sig").replace("\0", "")
    except UnicodeDecodeError:
        return _decode_broken_utf8(data).replace("\0", "")


def _decode_broken_utf8(data: bytes) -> str:
    """UTF-8 with few broken places, or cut inside a letter at an end, stays UTF-8; anything else is read as Latin-1."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    broken = text.strip("\ufffd").count("\ufffd")
    letters = sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", text)))
    return text if broken <= letters else data.decode("latin-1")


def clean(text: str) -> str:
    """The text without terminal codes, markup and quoting, with as many lines as before."""
    text = _unix_lines(text)
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "[" in text:
        text = _LOST_ESCAPES.sub("", text)
    if "<" in text and ("</" in text or "<br" in text):
        text = _TAGS.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found.group()).replace("\n", " "), text)
    if text.encode(errors="replace").translate(None, _PLAIN) and _CONTROL.search(text):
        text = text.translate(_CONTROLS)
    if ">" in text and any("\n" + blanks + ">" in "\n" + text[:4] or "\n" + blanks + ">" in text for blanks in _QUOTED):
        text = _QUOTING.sub("", text)
    return _STAMP.sub("", text) if _STAMP.search(text[:20000]) else text


def _unix_lines(text: str) -> str:
    """One `\\n` for each line end; the carriage returns of progress bars become blanks, those of old Macs line ends."""
    if "\r" not in text:
        return text
    if "\n" not in text and text.count("\r") > 1:
        return text.replace("\r", "\n")
    return re.sub(r"\r+\n", "\n", text).replace("\r", " ")
