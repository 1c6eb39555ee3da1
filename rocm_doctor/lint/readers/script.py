"""What the commands of a shell text do: set variables, install packages, start containers, in their order."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import UNKNOWN_LIST, Index, Place, ReadProblem, Setting, Step
from rocm_doctor.lint.environments.branches import runs, targets
from rocm_doctor.lint.readers import bash, computed, docker, doubts, filtered, installers, profiles, rewritten, shell, venvs
from rocm_doctor.lint.readers.installs import install
from rocm_doctor.lint.readers.shell import places_of

_ASSIGN = regex(r"([A-Za-z_]\w*)=(.*)", re.S)
MAX_COMMANDS, MAX_TEXT = bash.MAX_COMMANDS, bash.MAX_TEXT
"""Of one script. Windows' variables are filled in before they count: `set A=%A%%A%` grows."""
MAX_IN_ALL = 100_000
"""Commands of all scripts of a repository, each counted as often as something runs it: a matrix of jobs may run a long one hundreds of times."""
MAX_VARIABLES = 2000
"""After so many, what is made out of the GPU's name is not worked out any more."""
_PREFIXES = frozenset(
    ("sudo", "-E", "-H", "exec", "time", "nice", "env", "srun", "call", "@", "nohup", "retry", "set", "xargs", "wsl")
)
# Each runs a command in the environment of the project.
_RUNNERS = frozenset(("poetry", "pipenv", "pdm", "hatch"))
# A text without any of these words changes nothing that is judged.
_SPEAKS = regex(
    r"\bpip3?\b|\buv\b|torch|python\S* (?:-c|-m|-|\S+\.py)|\beval\b|\bmake\b|venv|virtualenv|\.sh\b|requirements|existing_torch|conda|mamba|poetry|pdm|docker|podman|nerdctl|HSA_|HIP_|ROCM|ROCR|PYTORCH|TORCH|GPU|AMD|NCCL|RCCL|BNB_|FLASH|TRITON"
    r"|pyproject|\.lock\b|\bpatch\b|git (?:apply|am|cherry-pick)\b|MIOPEN|rocblas|AITER|VLLM|PIP_|UV_|pytorch|gfx\d|rocm|amdgpu|OMP_|CUDA"
    r"|install\w*\.py|\|\s*(?:ba|z)?sh\b|--(?:device|use-cpu|cpu|mixed_precision|use_8bit_adam|load_in_[48]bit|bf16|optim|attn_implementation|quantization_bit|torch_compile)"
)
_CHANGES = regex(r"\b(?:pip|uv|conda|mamba|poetry|pdm|docker|podman|nerdctl|set|setx)\b|\$env:|^\w+=", re.I)
# Variables whose value is a command or the options of one: launchers of web interfaces take their torch from them.
_COMMAND_VARIABLES = regex(r"(?:\w*TORCH_COMMAND|\w*_INSTALL_CMD|TORCH_INSTALL\w*)$")


def speaks(text: str) -> bool:
    """True if a text holds any word of what is judged: most scripts of a repository do not."""
    return _SPEAKS.search(text) is not None


def read(text: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Read the commands of a POSIX shell text, in order, into `found`; `place` is that of its first line."""
    installers.body(text, place, context, found)
    if not speaks(text):
        return
    if len(text) > MAX_TEXT:
        _cut_short(place, context)
    for count, one in enumerate(bash.commands(place.file, text, place.line, context.names, context.kind, context.given), 1):
        if count == MAX_COMMANDS:
            _cut_short(place, context)
        context.tree.commands += 1
        if context.tree.commands > MAX_IN_ALL:
            _cut_short(place, context, f"its commands are run more than {MAX_IN_ALL:,} times in all")
            return
        if one.words[:1] == ["exit"] and not one.arms and _is_alone(one.place, context):
            return  # nothing behind it is run
        before, used = (len(found.steps), len(found.variables), len(found.containers)), len(found.used)
        pythons = len(found.pythons)
        _do(docker.with_program(one.words, one.handed), one.place, context, found)
        filtered.note(one.whole, context)
        for later in profiles.set_later(one, context.names):
            found.doubts.extend(doubts.of_override(later))
            found.variables.append(later)
        if one.guarded:
            found.steps[before[0] :] = [msgspec.structs.replace(step, guarded=True) for step in found.steps[before[0] :]]
        after = len(found.steps), len(found.variables), len(found.containers)
        if _is_default(one):
            found.variables[before[1] :] = [msgspec.structs.replace(s, default=True) for s in found.variables[before[1] :]]
        if one.arms and after != before and (only := targets(one.arms) + _set_before(one, before[1], found)):
            restrict(found, before, only)
        elif one.words[:1] == ["exit"] and one.words[1:2] != ["0"] and (only := targets(one.arms)):
            found.steps.append(Step("system", one.place, opaque=True, gfx=only))
        if after != before or one.words[:1] == ["exit"]:
            at = (one.place, *places_of(found.steps[before[0] :]), *(s.place for s in found.variables[before[1] :]))
            found.doubts.extend(doubts.of_lists(one.arms, at))
        if len(found.steps) > before[0]:
            found.doubts.extend(doubts.of_arms(one.arms, one.place))
        if not runs(one.arms, context.kind):
            found.unsure.extend((one.place, *places_of(found.steps[before[0] :])))
            found.used[used:] = [file._replace(sure=False) for file in found.used[used:]]
            if not venvs.made_where_missing(one.words, one.arms):
                found.pythons[pythons:] = [msgspec.structs.replace(one, value="") for one in found.pythons[pythons:]]


def _is_alone(place: Place, context: shell.Context) -> bool:
    """True if a line begins with its command: an exit in parentheses ends those."""
    lines = context.tree.lines(place.file)
    return 0 < place.line <= len(lines) and lines[place.line - 1].lstrip().startswith(place.quote[:4])


def run_at_the_end(found: shell.Script) -> tuple[Step, ...]:
    """The steps in the order in which they are run: the command in a variable is run by what the script starts at its end."""
    late = {s.place for s in found.variables if _COMMAND_VARIABLES.fullmatch(s.name)}
    return tuple(sorted(found.steps, key=lambda step: step.place in late))


# A test whether the caller gave an argument or set a variable, and a default for one.
_GIVEN = regex(r"\$#|\s-z\s|\$\{?\d")
_STANDS_IN = regex(r"\$\{\w+:?[-=]")


def _is_default(one: bash.Command) -> bool:
    return bool(_STANDS_IN.search(one.place.quote)) or any(
        _GIVEN.search(f" {said} ") for arm in one.arms for said in (arm.condition, *arm.denied)
    )


_UNSET = regex(r"-z\s+[\"']?\$\{?(\w+)")


def _set_before(one: bash.Command, first: int, found: shell.Script) -> tuple[str, ...]:
    """The GPUs, denied, for which a variable was set before that is set here only where it is not (`[ -z "$NAME" ]`)."""
    asked = {m[1] for arm in one.arms for m in _UNSET.finditer(arm.condition)}
    set_ = {s.name for s in found.variables[first:]} & asked
    before = (glob for s in found.variables[:first] if s.name in set_ for glob in s.gfx)
    return tuple(dict.fromkeys(f"!{glob}" for glob in before if not glob.startswith("!")))


# What may keep a command of a batch or PowerShell text from being run: its branches are not parsed.
_WINDOWS_BRANCH = regex(
    r"^[ \t]*[@}]?[ \t]*(?:if|else|elseif|goto|for|foreach|while|switch|function|try|call\s+:|:[a-z])", re.I | re.M
)


def read_windows(text: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """The same for batch and PowerShell text; where it has branches, nothing of it is known to run."""
    _read_windows(text, place, context, found)
    if _WINDOWS_BRANCH.search(text):
        found.unsure.extend(places_of(found.steps))
        found.used[:] = [file._replace(sure=False) for file in found.used]
        found.pythons.clear()


def _read_windows(text: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    left = MAX_TEXT
    for count, (at, command) in enumerate(shell.commands(place.file, text, place.line)):
        if count == MAX_COMMANDS or left <= 0:
            _cut_short(place, context)
            return
        if not _CHANGES.search(command):
            continue
        command = shell.filled(command, context.names)
        left -= len(command)
        _do(shell.words(command), at, context, found)


def _cut_short(
    place: Place, context: shell.Context, why: str = f"more than {MAX_COMMANDS:,} commands or {MAX_TEXT >> 20} MiB"
) -> None:
    """Record that the end of a script was not read: a padded one may not slip past a gate."""
    problem = ReadProblem(place, f"not read to its end: {why}")
    if problem not in context.tree.problems:
        context.tree.problems.append(problem)


def restrict(found: shell.Script, before: tuple[int, int, int], only: tuple[str, ...]) -> None:
    """Mark what one command added as meant for these targets."""
    steps, variables, containers = before
    found.steps[steps:] = [msgspec.structs.replace(one, gfx=only) for one in found.steps[steps:]]
    found.variables[variables:] = [msgspec.structs.replace(one, gfx=only) for one in found.variables[variables:]]
    found.containers[containers:] = [msgspec.structs.replace(one, gfx=only) for one in found.containers[containers:]]


# Where AMD's packages for a system come from: its repositories and the name of its installer's package hold the ROCm release.
_SYSTEM_ROCM = regex(r"https?://repo\.radeon\.com/(?:rocm/(?:apt|yum|zyp|el\d+|rhel\d+)|amdgpu-install)/(?:\.apt_)?\d\d?(?<!2\d)\.\d+(?:\.\d+)?(?=/|\s|$)"
                          r"|amdgpu-install[_-]\d+\.\d+(?:\.\d)?(?=\.\d{5})|--rocmrelease[= ]\d+\.\d+(?:\.\d+)?")  # fmt: skip
_TORCH_BLAS = regex(r"(?:torch/lib|_rocm_sdk\w*/lib|rocm/lib)/rocblas")
_GPU_OPTION = regex(r"-D((?:AMD)?GPU_TARGETS|(?:CMAKE_)?HIP_ARCHITECTURES)(?::\w+)?=([\w;,]*gfx[\w;,]*)")
_DEFINED = regex(r"-D(\w+)(?::\w+)?=(.*gfx.*)")


def defined(options: str, place: Place) -> list[Setting]:
    """The lists of GPUs among the options of cmake that a variable holds."""
    return [Setting(m[1], m[2], place) for m in _GPU_OPTION.finditer(options)]


def _do(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    argv = _without_prefixes(argv)
    while argv and (assigned := _ASSIGN.fullmatch(argv[0])):
        _set(assigned[1], assigned[2], place, context, found)
        argv = _without_prefixes(argv[1:])
    if not argv:
        return
    argv = ["".join(argv[0].split()), *argv[1:]]  # a program below a folder that a command gives: $(dirname x)/bin/pip
    if unread := installers.unread(argv, place, context, found):
        found.open_ends.append(unread)
    if system := _SYSTEM_ROCM.search(" ".join(argv)):
        found.steps.append(Step("system", place, indexes=(Index(system[0], "system", place),)))
    found.variables.extend(Setting(m[1], m[2].strip("\"'"), place) for word in argv if (m := _DEFINED.fullmatch(word)))
    if argv[0] in ("mv", "cp", "ln", "rsync") and _TORCH_BLAS.search(argv[-1]):
        found.problems.append(
            ReadProblem(place, "the rocBLAS of torch is replaced here: which GPUs the new one serves is not known", "rocblas")
        )
    elif rewritten.is_change(argv, context):
        return
    elif argv[0] in ("export", "setx", "declare", "typeset"):
        _exports(argv[1:], place, context, found)
    elif argv[0].lower().startswith("$env:"):
        name, _, value = " ".join(argv)[5:].partition("=")
        _set(name.strip(), value.strip(" \"'"), place, context, found)
    elif argv[0] in ("cd", "pushd") and len(argv) == 2:
        _go(argv[1], context)
    elif argv[0] == "popd":
        context.names["WORKDIR"] = context.start or context.names["WORKDIR"]
    elif docker.PROGRAMS.fullmatch(argv[0]) and "run" in argv[1:3]:
        started = argv[argv.index("run") + 1 :]
        found.containers.append(docker.with_use(docker.container(started, place), started, found.builds, context))
        found.variables.extend(docker.given(started, place))
    elif docker.PROGRAMS.fullmatch(argv[0]) and argv[1:2] == ["cp"]:
        found.containers[-1:] = [msgspec.structs.replace(one, gpu=bool(one.devices)) for one in found.containers[-1:]]
    elif docker.PROGRAMS.fullmatch(argv[0]) and "build" in argv[1:3]:
        found.builds.extend(docker.built(argv[argv.index("build") + 1 :], context))
    elif (left := venvs.left(argv, place, context, found)) is not argv:
        _do(left, place, context, found)
    elif called := _called(argv, context):
        _call(called, argv, place, context, found)
    elif argv[0] == "ssh" and len(argv) > 2:
        read(argv[-1], place, context, found)
    elif argv[0] in ("bash", "sh", "cmd") and len(argv) > 2 and argv[1] in ("-c", "-lc", "-exc", "/c"):
        read(argv[2], place, context, found)
    else:
        found.options.extend(_options(argv, place) if argv[0] in _LAUNCHERS else ())
        before = len(found.used)
        if step := install(argv, place, context, found):
            found.steps.append(step)
        elif len(found.used) == before:
            installers.command(argv, place, context, found)


# What compiles code for GPUs: a list of them in a script without any of it is for something else, such as what is downloaded.
_BUILDS = regex(
    r"\b(?:cmake|make|ninja|hipcc|amdclang\S*|clang\S*|meson|bazel|setup\.py|(?:pip\d?|uv) (?:install|wheel|pip install|build|sync)|build\w*|docker)\b"
    r"|--offload-arch|install_\w+\.sh",
    re.I,
)


def drop_other_lists(text: str, found: shell.Script, first: int) -> None:
    """Drop the lists of GPUs that a script sets, from the `first` variable on, where it builds nothing and exports none of them."""
    if not _BUILDS.search(text):
        found.variables[first:] = [s for s in found.variables[first:] if "gfx" not in s.value or f"export {s.name}" in text]


_MAX_CALLS = 6
_SHIFTS = regex(r"^[ \t]*shift\b|\bgetopts?\b", re.M)


def _called(argv: list[str], context: shell.Context) -> str:
    """The script of the repository that a command runs, as it is named there; empty for anything else."""
    words = argv[1:] if argv[0] in ("bash", "sh", "zsh", "source", ".") else argv
    words = list(itertools.dropwhile(lambda word: word.startswith("-"), words))
    name = words[0] if words else ""
    ours = name.endswith((".sh", ".bash")) and "$" not in name and not name.startswith(("~", "<("))
    return name if ours and context.path(name) is not None and len(context.reading) < _MAX_CALLS else ""


def _call(name: str, argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    """Read a script with the arguments that it gets; unless it is sourced, what it sets and where it goes ends with it."""
    path = context.path(name) or ""
    text = context.tree.text_if_there(path)
    if text is None:
        found.problems.append(ReadProblem(place, f"{name} {UNKNOWN_LIST}"))
        return
    if path in context.reading:
        return
    before = dict(context.names)
    # Arguments that a script takes one after the other are not followed.
    after = [] if _SHIFTS.search(text) else argv[argv.index(name) + 1 :]
    context.names.update({str(n): word for n, word in enumerate(after[:9], 1)})
    context.names["@"] = "\0".join(after)[: shell.MAX_VALUE]
    first = len(found.variables)
    start = posixpath.dirname(posixpath.normpath(posixpath.join("/", context.names.get("WORKDIR", "/"), name)))
    read(text, Place(path, 1), context._replace(start=start, reading=(*context.reading, path)), found)
    drop_other_lists(text, found, first)
    _restored(context.names, before, whole=argv[0] not in ("source", "."))


def _restored(names: dict[str, str], before: dict[str, str], *, whole: bool) -> None:
    """Give the variables their values from before a call: all of them, or the arguments only."""
    for name in [*names] if whole else ["@", *"123456789"]:
        names.pop(name, None)
    names.update(before if whole else {name: before[name] for name in ("@", *"123456789") if name in before})


_LAUNCHERS = frozenset(("accelerate", "torchrun", "deepspeed", "python", "python3", "trl", "llamafactory-cli"))


def _options(argv: list[str], place: Place) -> Iterator[Setting]:
    """The options of a training that is started: `--bf16 true`, `--optim=adamw_bnb_8bit`, and `--use_8bit_adam`, which is set."""
    started = next(
        (n for n, word in enumerate(argv) if word.endswith(".py") or word in ("sft", "dpo", "grpo", "train")), len(argv)
    )
    for n, word in enumerate(argv):
        name, given, value = word.partition("=")
        if not word.startswith("--") or (n < started and name != "--mixed_precision"):
            continue
        after = argv[n + 1] if n + 1 < len(argv) else "--"
        yield Setting(name[2:].replace("-", "_"), value if given else "true" if after.startswith("-") else after, place)


# The folder of a script, or the one that it came from: both are taken to be where it began. Then what is below it.
_HERE = regex(
    r"(?:-|.*\$\(.*(?:dirname|pwd|rev-parse).*\)|.*\$(?:\{(?:BASH_SOURCE|OLDPWD|PWD|\w*WORKSPACE|CI_PROJECT_DIR)\b[^}]*\}|(?:BASH_SOURCE|OLDPWD|PWD|\w*WORKSPACE|CI_PROJECT_DIR)\b)"
    r"|.*\$\{?\w*(?:SCRIPT|ROOT|REPO|PROJECT|BASE|HERE|WORK_?DIR)\w*\}?)((?:/[^$()]*)?)"
)
_PWD = regex(r"\$\(cd (?:-\S+ )*[\"']?(.+?)[\"']?(?: *[12&]?>\S+)*(?: *&&|;) *pwd(?: -\w)?\)((?:/[^$()]*)?)")


def _go(to: str, context: shell.Context) -> None:
    context.names["WORKDIR"] = _folder(to, context)


def _folder(to: str, context: shell.Context) -> str:
    """The folder that `cd` goes to."""
    if context.start and (m := _PWD.fullmatch(to)):
        return posixpath.normpath(_folder(m[1], context) + m[2])
    if context.start and (m := _HERE.fullmatch(to)):
        above = "/.." * (to.count("dirname ") - 1)
        return posixpath.normpath(context.start + above + m[1])
    return posixpath.normpath(posixpath.join(context.names.get("WORKDIR", "/"), to))


def _without_prefixes(argv: list[str]) -> list[str]:
    while argv and (argv[0].lstrip("@") in _PREFIXES or (argv[0] in _RUNNERS and argv[1:2] == ["run"])):
        argv = argv[2 if argv[0] in _RUNNERS else 1 :]
    return argv


def _exports(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    if len(argv) == 2 and "=" not in argv[0]:
        argv = ["=".join(argv)]
    for word in argv:
        if assigned := _ASSIGN.fullmatch(word):
            _set(assigned[1], assigned[2], place, context, found)


def _set(name: str, value: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    context.names[name] = value[: shell.MAX_VALUE]
    names = context.names if len(found.variables) < MAX_VARIABLES else {}
    found.variables.extend(computed.settings(name, value[: shell.MAX_VALUE], place, names))
    found.doubts.extend(doubts.of_override(found.variables[-1]))
    if _COMMAND_VARIABLES.fullmatch(name) and " install " in value:
        step = install(value.split(), place, context, found)
        found.steps.extend([step] if step else [])
