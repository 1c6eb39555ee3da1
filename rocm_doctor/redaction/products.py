"""Numbers and names of products, of their parts and versions, and of commits: they identify no one."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.around import Around

SHAPE = regex(
    r"\d+[a-z]{1,4}\d?|[a-z]{1,3}[1-9]\d{0,3}[a-z]?|[a-z]\d+[a-z]\d+|0x[0-9a-f]{1,16}|(?:0{2,}|f{4,})[0-9a-f]{4,14}|v\d+\w*"
    r"|gfx\d\w*|(?:rx|mi|gfx|sm|cp|py|cu|rocm|el|fc|gb|nm)\d+[a-z]*|git[0-9a-f]{6,40}|\d*(?:dev|post|rc|a|b)\d{6,12}|[brv]\d{3,6}|[iwef]\d{4}|\d\dt\d\d|\d+(?:x\d+)+[a-z]{0,4}\d{0,2}|\d+(?:x\d+){3,}\w*|0b[01]+|h[0-9a-f]{7}|x{3,}|(.)\1+"
    r"|g[0-9a-f]{6,12}|d20\d{6}|mei\d{4,7}|(?:cni|virbr|docker|veth|tun|tap|wg|bond|vxlan|flannel|cali|ppp|enp|eno|ens|wlp|hsn)\d\w{0,8}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,10}"
    r"|(?:\d+d)?\d+h\d+m(?:\d+s)?|\d+d\d+h|\d+m\d+s|\d+(?:\u03bc|\u00b5)s|(?:x\d+)+|mt\d+(?:x\d+)+|m\d+n\d+k\d+|fp\d+[a-z]\d[a-z]\d+|py\d*h[0-9a-f]{6,8}|tmp(?=[a-z_]*\d)\w{4,8}"
    r"|miopen\w*|gemm(?:fwd|bwd|wrw)\w*|conv(?:asm|bin|ck|direct|hip|mp|ocl)[a-z]*\d\w*|[nkcghwyx]{4,5}",
    re.I,
)
"""Sizes, targets, builds, addresses of memory: a number with a few letters."""


_HEX = regex(r"[0-9a-fA-F]{5,}")
_HASH_BEFORE = regex(
    r"(?:commit|index|revision|rev|sha\d*|git|hash|head|build(?:id| ?id)?|branch|merge|checkout|digest|snapshots?|blobs?|tree|blob|compare|md5|crc|version|local|image|etag"
    r"|\+g|-g|@|\.git|fw|ucode|vbios|checksum|sum|addr(?:ess)?|at|rip|r\d\d|r[a-z]{2}|cr\d|code|\.\.|fault|ptr|handle|pc|flags?|mask|status|offset|value|size|0x|#|/tmp/[a-z]+-)\W{0,6}(?:\w{0,12}[ /:=])?$",
    re.I,
)
_DIGEST_BEFORE = regex(
    r"(?:commit|revision|rev|sha\d*|git|hash|head|checkout|merge|branch|digest|snapshots?|blobs?|trees?|compare|md5|sum|etag|version|tag|[+-]g|@|\.\.|nightly|roc-[\d.]+ \d+|/stable|/artifacts|#1)[\s:=/\"'(\[@-]{0,4}$",
    re.I,
)
_VERSION = regex(r"\d+\.\d+[\w.]*[+.~/-]\w*$")


_OF_PIP = regex(r"/pip-[a-z-]+-$")
_SOURCE = regex(r"/[\w.-]+_$")
"""Folders that pip makes: `/tmp/pip-install-x8f3k2ab/llama-cpp-python_8c90f1...`."""
_MAPPED, _SIZE = regex(r"\+[0-9a-f]+\]"), regex(r" {2,}\d+(?:\.\d+)? [GM]B\b")
"""What follows on the place of a library in memory, and on the id of a model in a list of models."""


def is_hash(here: Around) -> bool:
    """A commit, a digest, an address of memory, a register."""
    if "/pip-" in here.begin and _OF_PIP.search(here.begin):
        return True
    if not _HEX.fullmatch(here.word):
        return False
    if _MAPPED.match(here.after) or _SIZE.match(here.after):
        return True
    if len(here.word) > 20:
        of_pip = len(here.word) == 32 and _SOURCE.search(here.begin)
        return bool(of_pip or _DIGEST_BEFORE.search(here.before) or "/.cache/" in here.begin)
    return bool(
        _HASH_BEFORE.search(here.before) or _VERSION.search(here.before) or (len(here.word) <= 12 and here.before.endswith("("))
    )


_VERSION_BEFORE = regex(r"(?:^|[\s\"'(=/:v_-])\d+\.\d+\.\d+[\w.+~-]*[-+_.~]$")


def is_version(here: Around) -> bool:
    """A part of a version: `6.8.0-45-generic`, `5.14.21-cray_shasta_c`."""
    return _VERSION_BEFORE.search(here.before) is not None and "@" not in here.chunk


_PRODUCT_BEFORE = regex(
    r"(?:\b|_)(?i:vbios(?:[ _]version)?|part[ _]number|(?:card|device|gpu|product|marketing|market|board|model|asic|cpu|vendor)[ _](?:series|model|name|sku|vendor|version|number)"
    r"|model name|codename|sku|distro|distribution|pretty_name|os|processor|chipset|architecture|controller|subsystem)[\"']?[ \t]*(?:[:=|]|\[\d{4}\]:)[^@\n]*$"
)
_DISK_BEFORE = regex(
    r"(?:KIOXIA|Micron|Seagate|WDC|WD|Solidigm|hynix|TOSHIBA|Toshiba|KINGSTON|Kingston|CRUCIAL|Crucial|HGST|Corsair|Sabrent|ADATA|Lexar|SanDisk) $"
)
_SYSTEM_BEFORE = regex(
    r"\b(?:Linux|Windows|Ubuntu|Debian|Fedora|NixOS|AMD|Radeon|Instinct|Ryzen|EPYC|Navi|Vega|ASUS|ASUSTeK|ASRock|Gigabyte|GIGABYTE|MSI|Supermicro|Dell|HP|HPE|Lenovo|Intel"
    r"|NVIDIA|Broadcom|Mellanox|Realtek|Samsung|Sapphire|PowerColor|XFX|Minisforum|Framework|ThinkPad|Jetson|GeForce|Quadro|Tesla)(?: \(?[A-Z0-9][\w.()/+-]*){0,4}[ -][(\[]?$"
)
_CODENAME_BEFORE = regex(r"\b[A-Z]\w* ?\d+(?:\.\d+)*,? \(?(?:[A-Z][a-z]+ )?$|\d+\.\d+ \((?:[A-Z][a-z]+ )?$")
"""The release of a system before its code name: `NixOS 25.05 (Warbler)`."""


def is_product(here: Around) -> bool:
    """A part of the name of a product, of a system or of a firmware."""
    if _PRODUCT_BEFORE.search(here.before):
        return "/home" not in here.before
    return (
        here.word[0].isupper()
        and (_DISK_BEFORE.search(here.before) or _SYSTEM_BEFORE.search(here.before) or _CODENAME_BEFORE.search(here.before))
        is not None
    )


PART = regex(
    r"(?:full|light|server)-(?:cuda|musa|rocm|vulkan)-b\d{4,5}|pc-(?:q35|i440fx)-\d{1,2}|(?i:cve)-\d{4}-\d{4,7}|1\d\d-[A-Z0-9]{5,12}-\w{1,4}|[A-Z]{2,4}-[0-9A-Z]{3,5}"
)
"""Numbers of boards and of their firmware, images of llama.cpp, machines of QEMU: `113-D1650600-X63`, `MS-7D78`, `server-rocm-b5429`."""


def is_part_number(here: Around) -> bool:
    """True for the number of a board or of its firmware."""
    return PART.fullmatch(here.name) is not None


_MODEL_BEFORE = regex(
    r"(?:model|product|part|network|ethernet|controller|adapter|firmware|bios|version|vbios|chipset|board|sku|mobo|dmi|cpu|processor|gpu|fw)\b[\w #()/.-]{0,24}(?:[:=]|\s{2})\s{0,40}[\w -]{0,60}$",
    re.I,
)
_MODEL = regex(r"(?=\w*[A-Z])(?=\w*\d)[A-Z0-9]{4,20}")


def is_model(here: Around) -> bool:
    """The number of a model, a board or a firmware, behind a word for it."""
    return _MODEL.fullmatch(here.word) is not None and _MODEL_BEFORE.search(here.before) is not None
