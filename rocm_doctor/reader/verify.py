"""Whether a stranger's commands and versions exist and serve a machine, by the catalog alone: nothing is run and nothing is asked for."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import Program, classify, settings, split_program, words
from rocm_doctor.cures.stated import is_ours, stated_commands
from rocm_doctor.cures.values import Values, first_gpu, install_commands
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import TorchBuild
from rocm_doctor.model import Proof, Proposal, ReportKind, Snapshot
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.plan.machine import TORCH
from rocm_doctor.reader.names import Names, addresses, releases
from rocm_doctor.rules.frameworks import PLAN
from rocm_doctor.rules.logs import Logs
from rocm_doctor.rules.override import NAME as OVERRIDE

PROOFS: tuple[Proof, ...] = ("proven", "corrected", "word", "withheld")
"""Of several parts of a command the last in this list counts."""
_ASSIGNED = regex(r"([A-Za-z_]\w*)=(.*)", re.S)
_FLAGS = ("--pre", "-U", "--upgrade", "--no-deps", "--force-reinstall", "--no-cache-dir", "--user", "--no-build-isolation")
_PLACES = ("-t", "-p", "--target", "--python", "--prefix")
_FILES = ("-r", "-c", "-e", "--requirement", "--constraint", "--editable")
_INDEX = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--default-index", "--index")
_UNSEEN = regex(r"[`\n\r\x00]|\$\(|[<>]\(")
_RUNNERS = frozenset((
    "sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "eval", "source", ".", "exec", "xargs", "parallel", "nohup", "time", "timeout", "watch", "nice",
    "su", "doas", "ssh", "chroot", "perl", "ruby", "node", "php", "lua", "awk", "gawk", "powershell", "pwsh", "cmd", "iex", "start",
))  # fmt: skip
"""Programs that run what their arguments or their input say."""
_HARMLESS = regex(r"\s[12&]?>\s*(?:&[12]|/dev/null)(?=[\s;|&)]|$)")
"""A redirection that writes nothing."""


class Verifier:
    """Judges commands, versions and targets for one machine. `text`: what the person wrote; what is named there needs no other proof."""

    def __init__(self, snapshot: Snapshot, kind: ReportKind, matrix: Matrix, text: str = "") -> None:
        self.snapshot, self.kind, self.matrix = snapshot, kind, matrix
        self.gpu = first_gpu(snapshot)
        self.values = Values(snapshot, self.gpu, Logs(()), matrix, kind)
        self.names = Names(self.values.gfx(), matrix, text)
        self.catalog = load_catalog(matrix)

    @property
    def gfx(self) -> str:
        """The target of the GPU to train on; empty where it is not known."""
        return self.values.gfx()

    def destroys(self, sentence: str) -> bool:
        """True if a sentence names a command that deletes files."""
        names = "|".join(re.escape(name) for name, one in self.matrix.programs.items() if one.effect == "destructive")
        return re.search(rf"(?<![\w-])(?:{names})(?:\.\w+)?\s+(?:-\w|[/~.*]|\w+=)", sentence) is not None

    def is_command(self, text: str) -> bool:
        """True if the first word of a line is a program of the catalog, or sets a variable."""
        try:
            name, _ = split_program(shlex.split(text.removeprefix("$ ")))
        except ValueError:
            return True
        return name == "" or name in self.matrix.programs

    def judge(self, text: str) -> Proposal:
        """What is known of one command line."""
        text = text.strip().removeprefix("$ ")
        proposal, (command,) = self._line(text), self.matrix.classify((text,))
        # A template with a value in it is ours only where the value can do no harm: installs and variables are judged by what they name.
        of_system = command.effect in ("system", "login", "reboot")
        is_stated = normalize_command(text) in self.matrix.once(stated_command_set) or (of_system and is_ours(text, self.matrix))
        if (
            is_stated
            and proposal.proof in ("word", "withheld")
            and command.effect != "destructive"
            and not any(settings(command).values())
        ):
            proposal = Proposal("proven", "a command of the matrix")
        return msgspec.structs.replace(proposal, commands=(command,) if proposal.proof == "proven" else proposal.commands)

    def _line(self, text: str) -> Proposal:
        plain = _HARMLESS.sub(" ", text)
        try:
            parts, signs = words(plain), set(shlex.shlex(plain, posix=True, punctuation_chars="<>"))
        except ValueError:
            return Proposal("withheld", "it does not parse")
        if _UNSEEN.search(text) or signs & {">", ">|", "<>"}:
            return Proposal("withheld", "it runs or overwrites what cannot be checked")
        proposals = [self._part(argv) for argv in parts] or [Proposal("withheld", "it is empty")]
        proposals += [Proposal("word", "it writes into a file")] if ">>" in signs else []
        worst = _worst(proposals)
        because = "; ".join(
            dict.fromkeys(proposal.because for proposal in proposals if proposal.because and proposal.proof == worst.proof)
        )
        return msgspec.structs.replace(worst, because=because)

    def _part(self, argv: Sequence[str]) -> Proposal:
        """What is known of one simple command."""
        foreign = [address for address in addresses(" ".join(argv)) if not self.names.serves(address)]
        if not all(map(self.names.is_on_known_server, foreign)):
            return Proposal("withheld", "it goes to an address that rocm-doctor does not know")
        name, arguments = split_program(argv)
        program = self.matrix.programs.get(name)
        if program and _is_python(program) and arguments[:2] == ["-m", "pip"]:
            return self._part([*argv[: -1 - len(arguments)], "pip", *arguments[2:]])
        known = self.matrix.programs.get(name.partition(".")[0])
        if known and known.effect == "destructive":
            return Proposal("withheld", f"`{name}` deletes files")
        if name in _RUNNERS or (program and _runs(program, arguments)):
            return Proposal("withheld", f"what `{name}` would run cannot be checked")
        if name and program is None:
            return Proposal("word", f"not checked: `{name[:40]}` is not a program that rocm-doctor knows")
        assigned = itertools.takewhile(lambda one: one, map(_ASSIGNED.fullmatch, arguments if name == "export" else argv))
        found = [self._setting(one[1], one[2]) for one in assigned if one]
        asked = _pip_arguments(name, arguments)
        effect = classify(shlex.join([name, *arguments]), self.matrix.programs).effect if program else ""
        if effect == "destructive":
            found.append(Proposal("withheld", f"`{name}` deletes files"))
        elif asked is not None:
            found.append(self._install(asked))
        elif effect == "reads":
            unknown = [Proposal("word", f"{one} is not known to exist") for one in self.names.unknown(" ".join(arguments))]
            found += unknown or [Proposal("proven", f"`{name}` is known")]
        elif name and not (name == "export" and found):
            of = "environment" if effect == "environment" else "system"
            found.append(Proposal("word", f"it changes the {of}, and the matrix does not state it"))
        found += [Proposal("word", f"{one} is not known to exist") for one in foreign]
        return _worst(found)

    def _setting(self, name: str, value: str) -> Proposal:
        """What is known of a variable and its value."""
        if name == OVERRIDE:
            override = self.names.override(value)
            if override and override.verdict != "harmful":
                return Proposal("proven", f"{name}={value}: {override.verdict} on {self.gfx or 'some targets'}")
            why = f"{name}={value} is {'harmful' if override else 'not known to work'} on {self.gfx or 'any target'}"
            ours = self.values.value("version_override")
            return (
                Proposal("corrected", why, commands=self.matrix.classify((f"export {name}={ours}",)))
                if ours
                else Proposal("withheld", why)
            )
        reader = self.matrix.env.get(name)
        if reader is None:
            return Proposal("word", f"rocm-doctor does not know the variable {name}")
        if reader.exists == "no":
            return Proposal("word", f"nothing reads {name}")
        return Proposal("proven", f"{name} is read by {reader.reader}")

    def _install(self, arguments: Sequence[str]) -> Proposal:
        """What is known of the arguments of `pip install`."""
        wanted, indexes, other = _requirements(arguments)
        if other := [*other, *(index for index in indexes if not self.names.serves(index))]:
            return Proposal("withheld", f"what `{other[0][:60]}` would install cannot be checked")
        if not wanted:
            return Proposal("withheld", "it names nothing to install")
        proposals = [self._torch(wanted, indexes)] if any(name in TORCH for name in wanted) else []
        for name in wanted.keys() - set(TORCH):
            package, one = self.catalog.packages.get(name), wanted[name]
            if package is None:
                proposals.append(Proposal("word", f"{name} is not a package of the catalog"))
            elif any(one.specifier.contains(version, prereleases=True) for version in self.matrix.once(releases).get(name, ())):
                proposals.append(Proposal("proven", f"{one} is known"))
            else:
                proposals.append(Proposal("word", f"{one} is not known to exist"))
        return _worst(proposals)

    def _torch(self, wanted: Mapping[str, Requirement], indexes: Sequence[str]) -> Proposal:
        """A torch that this index serves and that has code for this GPU; else the one of `plan`."""
        at = {one.key: index for one in self.matrix.torch if (index := self.catalog.build_index(one))}
        served = [
            one for one in self.matrix.torch if one.key in at and at[one.key].url.rstrip("/") in indexes and _fits(one, wanted)
        ]
        good = [one for one in served if not self.gfx or covers(one.gfx or at[one.key].devices, self.gfx) is True]
        if good:
            code = f" and has code for {self.gfx}" if self.gfx else ""
            return Proposal("proven", f"torch {good[0].local or good[0].torch} is in this index{code}")
        asked = " ".join(map(str, wanted.values()))
        why = f"{asked} of this index has no code for {self.gfx}" if served else f"{asked} is not known to exist in this index"
        why = why if indexes else "without an index of builds for ROCm, pip takes a torch for CUDA or the CPU"
        ours = install_commands(self.snapshot, self.gpu, self.matrix, self.kind) or (PLAN,)
        return Proposal("corrected", why, commands=self.matrix.classify(ours))


def _is_python(program: Program) -> bool:
    """True for the interpreter itself."""
    return program.purpose == "python" and "-c" in program.runs


def _runs(program: Program, arguments: Sequence[str]) -> bool:
    """True if another program or code follows among the arguments. A short option may stand in a group: `-Ic`. Python runs what it is
    given, or its input, unless the arguments begin with a form of the catalog."""
    if _is_python(program):
        return not any(arguments[: len(form)] == form for form in map(str.split, program.forms))
    grouped = {letter for argument in arguments if argument[:1] == "-" and argument[1:2] != "-" for letter in argument[1:]}
    return any(run in ("", *arguments) or (len(run) == 2 and run[1] in grouped) for run in program.runs)


def _pip_arguments(name: str, arguments: Sequence[str]) -> Sequence[str] | None:
    """The arguments of `pip install` and `uv pip install`; None for another command."""
    argv = [name, *arguments]
    argv = argv[1:] if argv[:2] == ["uv", "pip"] else argv
    return argv[2:] if argv[0] in ("pip", "pip3") and argv[1:2] == ["install"] else None


def _fits(build: TorchBuild, wanted: Mapping[str, Requirement]) -> bool:
    """True if the build is what the requirements ask for, as far as it is known what comes with it."""
    versions = {"torch": build.local or build.torch, "torchvision": build.torchvision, "torchaudio": build.torchaudio}
    return all(
        wanted[name].specifier.contains(version, prereleases=True)
        for name, version in versions.items()
        if name in wanted and version
    )


def _worst(proposals: Sequence[Proposal]) -> Proposal:
    """The proposal that counts, of those for the parts of a command. Where there is none, nothing was checked."""
    nothing = Proposal("withheld", "nothing in it can be checked")
    return max(proposals, key=lambda proposal: PROOFS.index(proposal.proof), default=nothing)


def _requirements(asked: Sequence[str]) -> tuple[dict[str, Requirement], list[str], list[str]]:
    """(requirements by name, addresses of indexes, other words) of what `pip install` is asked for. The others are files, and
    what is not a requirement."""
    wanted: dict[str, Requirement] = {}
    indexes: list[str] = []
    other: list[str] = []
    left = iter(asked)
    for word in left:
        option, sign, value = word.partition("=")
        if option in _INDEX:
            indexes.append((value if sign else next(left, "")).rstrip("/"))
        elif option in _PLACES:
            value = value if sign else next(left, "")
        elif option in _FILES:
            other.append(f"{option} {value if sign else next(left, '')}")
        elif word not in _FLAGS:
            try:
                wanted[canonicalize_name(Requirement(word).name)] = Requirement(word)
            except InvalidRequirement:
                other.append(word)
    return wanted, indexes, other


def normalize_command(text: str) -> str:
    """A command without quotes, and with one of the two names of the person's login."""
    try:
        return " ".join(shlex.split(text)).replace("$USER", "$LOGNAME")
    except ValueError:
        return text


def stated_command_set(matrix: Matrix) -> frozenset[str]:
    """The commands of the matrix, each normalised, as `stated_commands` finds them."""
    return frozenset(map(normalize_command, stated_commands(matrix)))
