"""What a training repository declares, each piece with its file and line: readers fill these, `rules/` judge them.

An `Environment` is one way to install or run what the repository holds: a requirements file that nothing else includes, a project
with one of its extras, a stage of a Dockerfile, a job of a workflow with one combination of its matrix, a branch of an install
script. Its steps are in the order in which they are run.
"""

from __future__ import annotations

import datetime
from typing import Literal

import msgspec

from rocm_doctor.model import Reading

Tool = Literal["pip", "uv", "poetry", "pdm", "conda", "lock", "system"]
Role = Literal["default", "extra", "find-links", "bound", "system"]
For = Literal[
    "amd",
    "nvidia",
    "intel",
    "apple",
    "other",
    "cpu",
    "windows",
    "neutral",
    "documentation",
    "example",
    "test",
    "vendored",
    "ci",
    "optional",
]
Sort = Literal["requirements", "project", "image", "service", "job", "script", "configuration", "conda", "text"]


class Place(msgspec.Struct, frozen=True):
    """A file relative to the repository's root, with `/`; a line from 1 on; and the words there."""

    file: str
    line: int
    quote: str = ""

    @property
    def at(self) -> tuple[str, str]:
        """The file and the line as a reading names them."""
        return self.file, f"line {self.line}"

    def reading(self) -> Reading:
        """The place as a reading."""
        return Reading(*self.at, self.quote)

    @property
    def words(self) -> str:
        """The place as advice names it."""
        return f"line {self.line} of {self.file}"


class Index(msgspec.Struct, frozen=True):
    """Where packages may come from. `only` names the packages it is bound to (uv sources, poetry sources); empty: all."""

    url: str
    role: Role
    place: Place
    only: tuple[str, ...] = ()
    marker: str = ""


class Requirement(msgspec.Struct, frozen=True):
    """One package: canonical name, version range (`>=2.1,<3`), where from when a URL is given, marker as text."""

    name: str
    spec: str
    place: Place
    extras: tuple[str, ...] = ()
    url: str = ""
    marker: str = ""

    @property
    def from_git(self) -> bool:
        """True for a package at the address of a Git repository."""
        return self.url.startswith("git+")


class Step(msgspec.Struct, frozen=True):
    """One installation: what is asked for, from where, by which tool.

    `strategy`: uv's index strategy, where one is set. `opaque`: it also installs wheels or sources whose contents no file of
    the repository names, such as `pip install dist/*.whl`. `removed`: packages that it uninstalls. `builds`: where a project that is
    built in isolation asks for torch. `against`: what other extras ask for, which uv resolves together with this. `apart`: the folder that
    pip installs into without looking at what is there (`--prefix`, `--root`). `anew`: pip does not look at what is installed at all. `pythons`: those
    that a project which it installs allows, where the installer looks. `guarded`: what runs it goes on where it fails (`command || echo ...`).
    `isolated`: what has no wheel is built in an environment without torch. `lacks`: what it asks for and its project does not define, so that
    its tool stops; `without`: the same where pip only warns.
    """

    tool: Tool
    place: Place
    requirements: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    indexes: tuple[Index, ...] = ()
    strategy: str = ""
    upgrade: bool = False
    no_deps: bool = False
    opaque: bool = False
    removed: tuple[str, ...] = ()
    builds: Place | None = None
    against: tuple[Requirement, ...] = ()
    apart: str = ""
    anew: bool = False
    pythons: Setting | None = None
    isolated: bool = True
    gfx: tuple[str, ...] = ()
    guarded: bool = False
    lacks: str = ""
    without: str = ""


class Setting(msgspec.Struct, frozen=True):
    """A name with its value: an environment variable, or a key of a training configuration (dotted path). `default`: the caller
    of the script may give another value. `argument`: the build argument whose default it is. `removal`: the edits that take a variable out of
    its file, where more than its words have to go.
    """

    name: str
    value: str
    place: Place
    default: bool = False
    argument: str = ""
    gfx: tuple[str, ...] = ()
    removal: str = ""


class Container(msgspec.Struct, frozen=True):
    """A container that is started: a compose service or a `docker run`. `gpu`: what it runs or mounts says that it wants one; `sure`: what
    it runs was read, or is known, and uses one; `idle`: that it uses none.

    `nvidia`: it asks for NVIDIA's runtime, driver or devices, or by `gpus`, which older releases of Docker take for them. `mounted`: the nodes under /dev that it gets as volumes. `reserved`: the driver of a device that it reserves, which Docker does not have. `beside`: a service for NVIDIA that starts with it.
    `kept`: where a file that it is merged over reserves NVIDIA devices for it; `needed`: where a service that it depends on does.
    """

    name: str
    image: str
    place: Place
    devices: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    shm: str = ""
    ipc: str = ""
    privileged: bool = False
    nvidia: str = ""
    gpu: bool = False
    sure: bool = False
    idle: bool = False
    service: bool = False
    mounted: tuple[str, ...] = ()
    reserved: str = ""
    beside: Place | None = None
    kept: Place | None = None
    needed: Place | None = None
    gfx: tuple[str, ...] = ()


class Purpose(msgspec.Struct, frozen=True):
    """Whom an environment is for, and the words that say so with their place.

    `direct` is False where only settings of the run time say so, or where parts for other hardware are mixed in.
    """

    kind: For = "neutral"
    words: str = ""
    place: Place | None = None
    direct: bool = True


About = Literal[
    "contents",
    "packages",
    "before",
    "start",
    "limits",
    "argument",
    "rocblas",
    "refused",
    "line",
    "list",
    "hint",
    "absent",
    "stage",
    "copy",
    "gone",
]


class ReadProblem(msgspec.Struct, frozen=True):
    """Something that could not be read, said with its place.

    `about`: what it leaves open. `packages`: what a list installs; `before`: what was installed already; `start`: what is installed when an image starts; `limits`: what a constraint
    allows; `argument`: a build argument, the first word; `rocblas`: the GPUs of torch's rocBLAS. Not every pip takes what is `refused`; none takes
    anything of a list with such a `line`, or with another `list` that it cannot read. A `hint` costs nothing.
    What is `absent` is certainly not there when it is asked for, nor is the `stage` that an image is built as, what a `copy` takes for a file, or what is `gone` that it takes. `gfx`: it concerns these targets alone.
    """

    place: Place
    message: str
    about: About = "contents"
    gfx: tuple[str, ...] = ()


OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
ROCR = "ROCR_VISIBLE_DEVICES"
RUN_TIME = frozenset((OVERRIDE, ROCR, "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"))
"""What the runtime reads when a program starts, and no build does."""
REQUIRES_PYTHON = "requires-python"
"""The name of a setting that holds the Pythons which a project allows."""
UNKNOWN_LIST = "is not in the repository: what it installs is not known"
CHANGED = "is changed by a command before it is installed: what is left in it is not known"


class Environment(msgspec.Struct, frozen=True):
    """One way into the repository, with everything that it sets. `open`: a library's range, which leaves the torch to its user.

    `unresolved`: what could not be told from the files; it lowers the confidence of what is judged. `unsure`: what runs only
    under a condition that the files do not decide. `companions`: torchvision and torchaudio, as far as the repository asks for them. `managed`:
    where pip installs into a Python that its system keeps for itself. `open_ends`: what it runs and no file says what that does, beside what is
    judged. `compiles`: False where it installs ready wheels and none of its commands builds anything, so that a list of GPUs for builds has no effect.
    `bare`: its commands install no package of Python and build nothing.
    `doubts`: what leaves open whether it serves its GPU, and is no problem by itself. `apt`: what an image asks the package archive of its system for. `starts`: the Python that it is started with, where pip
    installs for another one. `built`: the image that a service is built as, which it runs with its own variables. `shared`: the lists that other
    environments install over the torch of their image. `given`: the build arguments that what has it built gives a value.
    """

    name: str
    place: Place
    image: Setting | None = None
    steps: tuple[Step, ...] = ()
    variables: tuple[Setting, ...] = ()
    containers: tuple[Container, ...] = ()
    config: tuple[Setting, ...] = ()
    python: Setting | None = None
    os: str = ""
    sort: Sort = "requirements"
    open: bool = False
    labels: tuple[str, ...] = ()
    purpose: Purpose = Purpose()
    unresolved: tuple[ReadProblem, ...] = ()
    unsure: tuple[Place, ...] = ()
    companions: tuple[str, ...] = ()
    managed: Place | None = None
    open_ends: tuple[ReadProblem, ...] = ()
    doubts: tuple[ReadProblem, ...] = ()
    compiles: bool = True
    bare: bool = False
    apt: tuple[Setting, ...] = ()
    starts: Setting | None = None
    built: Environment | None = None
    shared: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @property
    def unread(self) -> ReadProblem | None:
        """The first problem that leaves its contents open; None if all of it was read. What was installed before or at start does not count."""
        return next((p for p in (*self.unresolved, *self.open_ends) if p.about not in ("before", "start")), None)


class Target(msgspec.Struct, frozen=True):
    """The machine that the repository is meant for; an empty field is not declared."""

    name: str
    gpu: str = ""
    rocm: str = ""
    driver: str = ""
    python: str = ""
    os: str = "linux"
    place: Place | None = None

    @property
    def platform(self) -> str:
        """The operating system that its programs are built for: WSL runs those for Linux."""
        return "linux" if self.os == "wsl" else self.os


class Ignore(msgspec.Struct, frozen=True):
    """A finding that the repository accepts: diagnosis id or row, the reason, and the day from which on it is reported again."""

    id: str
    reason: str
    until: datetime.date | None
    place: Place
    file: str = ""


class Policy(msgspec.Struct, frozen=True):
    """`[tool.rocm-doctor]` or rocm-doctor.yaml: named targets, what fails the run, accepted findings, folders left out."""

    targets: tuple[Target, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    fail_on: str = ""
    exclude: tuple[str, ...] = ()
    problems: tuple[ReadProblem, ...] = ()


class Reference(msgspec.Struct, frozen=True):
    """A place that names another file of the repository. `how`: it installs the list, writes down what is installed into it, is a document that
    tells of it, or names it in any other way.
    """

    file: str
    place: Place
    how: Literal["installs", "writes", "tells", "names"]


class Repository(msgspec.Struct, frozen=True):
    """All that was read of one repository. `files`: how many were looked into. `package`: others install it beside a torch of theirs.

    `mention`: where a file speaks of ROCm or AMD GPUs, if no environment for them is declared; `unread`: where one names what only an
    environment for them needs, in a form that is not read; `unread_windows`: the same for Windows. `first`: where the documentation
    has PyTorch installed by its user; if one for them is declared, a ROCm torch. `assigned`: every value that is given to what decides in environments for AMD, read or
    not; `pythons`: the Pythons that the repository names. `beginning`: its title, first paragraph or name, where that names GPUs; `meant`: the heads of
    files and the READMEs of folders that name GPUs. `references`: where a file of an environment for AMD is named by another file; `unnamed`: the
    files that none names, in places where nobody looks for them; `documented`: those of images that a document for AMD GPUs has built.
    `served`: the GPUs that its documents name, where one of them lists those that it is for.
    `other_way`: its title or name, where that names another way to AMD GPUs than ROCm. `on_cpu`: where its programs keep torch on
    the CPU, if none names another device. `lost`: where a document for AMD GPUs gives a command a file that is not there.
    `beyond`: what decides for which GPUs something is, in a file that was not read, or a source of code for GPUs (line 0).
    `limits`: the GPUs that data files list, and that documents have something built for. `imports`: the libraries of training
    that programs import; `modules`: all modules that they import, by the first part of their names.
    """

    environments: tuple[Environment, ...]
    policy: Policy = Policy()
    problems: tuple[ReadProblem, ...] = ()
    files: int = 0
    package: bool = False
    mention: Place | None = None
    unread: Place | None = None
    unread_windows: Place | None = None
    first: Place | None = None
    assigned: tuple[Setting, ...] = ()
    pythons: tuple[Setting, ...] = ()
    beginning: Setting | None = None
    meant: tuple[Setting, ...] = ()
    references: tuple[Reference, ...] = ()
    unnamed: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()
    other_way: Setting | None = None
    served: Setting | None = None
    on_cpu: Place | None = None
    lost: Place | None = None
    beyond: Place | None = None
    limits: tuple[Setting, ...] = ()
    imports: tuple[Setting, ...] = ()
    modules: frozenset[str] = frozenset()
