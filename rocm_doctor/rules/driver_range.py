"""Is the amdgpu driver within AMD's supported range for the ROCm in use?

The machine reports the version of the module; the catalog (driver.yaml) maps it to a release and lists the user spaces that AMD
supports with it. Up to 6.3 a driver supports two releases either way, from 6.4 on a year. Outside of the range things often
work: a note, and a warning only if the driver is the older one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from rocm_doctor.matrix import DriverRange, Matrix
from rocm_doctor.model import Finding, Snapshot
from rocm_doctor.rules.findings import finding, readings
from rocm_doctor.versions import parse, release, series, sort_key

_YEAR = 400
"""Days: a year and a little, since AMD's tables go by month."""


def driver_range(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`version.driver-mismatch` for a DKMS driver out of range, or an Adrenalin driver older than the one AMD names."""
    name, rocm = user_space(snapshot)
    if not rocm:
        return
    if snapshot.value("platform") == "windows":
        yield from _windows(snapshot, matrix, name, rocm)
        return
    module = str(snapshot.value("driver.version") or "")
    driver = driver_release(module, matrix)
    side = outside(driver, rocm, matrix) if driver else _older_than_all(module, rocm, matrix)
    if side:
        case = "version.driver-mismatch/older" if side == "older" else "version.driver-mismatch/newer"
        evidence = readings(snapshot, "driver.version", name)
        sources = matrix.driver_ranges[0].sources if matrix.driver_ranges else ()
        yield finding(matrix, case, evidence, sources=sources, driver=driver or module, rocm=rocm)


def user_space(snapshot: Snapshot) -> tuple[str, str]:
    """(name of the fact, version) of the ROCm that will be loaded; the version is empty if it is not known."""
    value = snapshot.value("rocm.loaded")
    return "rocm.loaded", value if isinstance(value, str) else ""


def driver_release(module: str, matrix: Matrix) -> str | None:
    """The release of a DKMS module: by module and build, else by the module alone when all its builds are of one series."""
    version = parse(module)
    known = [m for m in matrix.driver_modules if version and release(m.module) == version.release]
    exact = [m for m in known if version and version.build and (p := parse(m.module)) and p.build == version.build[:1]]
    names = {series(m.release.replace(".x", "")) for m in exact or known}
    return names.pop() if len(names) == 1 else None


def outside(driver: str, rocm: str, matrix: Matrix) -> str | None:
    """`older` or `newer` if the driver is out of the range for that ROCm; None inside, or if no table covers it."""
    windows = [w for w in matrix.driver_ranges if w.kind in ("listed", "tested") and _names(w.driver, driver)]
    if any(_names(w.rocm, rocm) for w in windows):
        return None
    if (sort_key(driver) >= sort_key("6.4")) and not _apart(driver, rocm, matrix):
        return None
    return _side(_rocm_release(driver, matrix), rocm, windows)


def _older_than_all(module: str, rocm: str, matrix: Matrix) -> str | None:
    """`older` if the module is below all modules of the catalog and the lowest of these is already too old for that ROCm; else
    None: not known."""
    lowest = min(matrix.driver_modules, key=lambda one: sort_key(one.module), default=None)
    if lowest is None or parse(module) is None or sort_key(module) >= sort_key(lowest.module):
        return None
    return "older" if outside(lowest.release, rocm, matrix) == "older" else None


def _names(listed: str, version: str) -> bool:
    """True if a cell of a table (`6.3.x|6.4.x|30.20.0-2`) has the version or its series."""
    mine = series(version) or version
    cells = [cell.split("-")[0] for cell in listed.split("|")]
    return any(fnmatchcase(version, c.replace("x", "*")) or series(c.replace(".x", ".0")) == mine for c in cells)


def _apart(driver: str, rocm: str, matrix: Matrix) -> bool:
    """True if more than a year is between the two releases; False if a date is unknown."""
    dates = {series(r.version): r.date for r in reversed(matrix.rocm) if r.date}
    one, other = dates.get(series(_rocm_release(driver, matrix))), dates.get(series(rocm))
    return bool(one and other and abs((one - other).days) > _YEAR)


def _rocm_release(driver: str, matrix: Matrix) -> str:
    """The ROCm release that a driver shipped with: its own number up to 6.4, from 30.10 on as in driver.yaml."""
    return next((m.rocm for m in matrix.driver_modules if m.rocm and series(m.release.replace(".x", "")) == driver), driver)


def _side(driver: str, rocm: str, windows: list[DriverRange]) -> str | None:
    """`older` or `newer`; None if no table of this driver was read."""
    if not windows:
        return None
    return "older" if sort_key(driver) < sort_key(rocm) else "newer"


def _windows(snapshot: Snapshot, matrix: Matrix, name: str, rocm: str) -> Iterator[Finding]:
    """The finding for an Adrenalin driver (year.month.patch) older than the one that AMD names for the release."""
    mine = release(str(snapshot.value("driver.windows") or ""))
    for window in matrix.driver_ranges:
        wanted = release(window.driver.split("|")[0].removeprefix("Adrenalin ")) if window.kind == "windows" else None
        if not wanted or not mine or len(mine) != 3 or len(wanted) != 3 or series(window.rocm) != series(rocm) or mine >= wanted:
            continue
        case, evidence, listed = "version.driver-mismatch/windows", readings(snapshot, "driver.windows", name), window.driver
        yield finding(matrix, case, evidence, sources=window.sources, driver=listed.split("|")[0], rocm=window.rocm)
