"""Which reader a file belongs to, by its name; and whether a YAML or JSON text is a training configuration."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import fits, regex

# The first that fits. Patterns are of the lower-case path and, after `/`, of its last part.
KINDS: tuple[tuple[str, str], ...] = (
    ("workflow", "*.github/workflows/*.yml"),
    ("workflow", "*.github/workflows/*.yaml"),
    ("gitlab", "/.gitlab-ci.yml"),
    ("requirements", "/*requir*ments*.txt"),
    ("requirements", "/*reqs*.txt"),
    ("requirements", "/*requirements*.in"),
    ("requirements", "*requirements/*.txt"),
    ("requirements", "/constraints*.txt"),
    ("pyproject", "/pyproject.toml"),
    ("uvlock", "/uv.lock"),
    ("poetrylock", "/poetry.lock"),
    ("pylock", "/pylock*.toml"),
    ("policy", "/rocm-doctor.yaml"),
    ("policy", "/rocm-doctor.yml"),
    ("setuptools", "/setup.py"),
    ("setuptools", "/setup.cfg"),
    ("pixi", "/pixi.toml"),
    ("pipfile", "/pipfile"),
    ("readme", "/readme*.md"),
    ("readme", "/*install*.md"),
    ("readme", "/*amd*.md"),
    ("readme", "/*rocm*.md"),
    ("readme", "*docs/*index.md"),
    ("readme", "/*setup*.md"),
    ("readme", "/*quick*start*.md"),
    ("readme", "/*getting*started*.md"),
    ("readme", "/readme*.rst"),
    ("readme", "/install*.rst"),
    ("guide", "/*.md"),
    ("guide", "/*.rst"),
    ("notebook", "/*.ipynb"),
    ("cmake", "/cmakelists.txt"),
    ("cmake", "/*.cmake"),
    ("make", "/makefile"),
    ("make", "/gnumakefile"),
    ("make", "/makefile[.-]*"),
    ("make", "/*.mk"),
    ("make", "/*justfile"),
    ("python", "/*hip*.py"),
    ("python", "/*rocm*.py"),
    ("python", "/*install*.py"),
    ("python", "/*setup*.py"),
    ("python", "/launch*.py"),
    ("python", "/one_click.py"),
    ("python", "/webui*.py"),
    ("dockerfile", "/dockerfile"),
    ("dockerfile", "/dockerfile[._-]*"),
    ("dockerfile", "/*.dockerfile"),
    ("dockerfile", "/containerfile"),
    ("dockerfile", "/containerfile[._-]*"),
    ("compose", "/*compose*.yml"),
    ("compose", "/*compose*.yaml"),
    ("compose", "/*compose*.y*ml.*"),
    ("conda", "/environment*.yml"),
    ("conda", "/environment*.yaml"),
    ("conda", "/conda*.yml"),
    ("conda", "/conda*.yaml"),
    ("env", "/.env*"),
    ("env", "/*.env"),
    ("shell", "/*.sh"),
    ("shell", "/*.bash"),
    ("shell", "/*.slurm"),
    ("shell", "/*.sbatch"),
    ("shell", "/*.bat"),
    ("shell", "/*.cmd"),
    ("shell", "/*.ps1"),
    ("pinokio", "/install.js"),
    ("pinokio", "/torch.js"),
    ("devcontainer", "/devcontainer.json"),
    ("devcontainer", "/.devcontainer.json"),
    ("config", "/*.yaml"),
    ("config", "/*.yml"),
    ("deepspeed", "/*.json"),
    ("tomlconfig", "/*.toml"),
)  # fmt: skip
# Names that begin like a Dockerfile and are something else.
_PICTURES = ("*.png", "*.jpg", "*.svg", "*.md", "*.rst", "*.py", "*.sh", "*.j2", "*.tmpl", "*.html", "*.lock")
_NEVER = ("*.dockerignore", "*/package.json", "*/package-lock.json", "*/tsconfig*.json", "*.min.json")
# Documents that tell what was, or what is wanted, and not how to install what is there.
_HISTORY = regex(
    r"^/(?:change|history|news|release|whats[_-]?new|roadmap|todo|licen[cs]e|code[_-]of|contributors|authors|security|issue|pull_request)|^/[\d.v]+\.(?:md|rst)$"
)
_SUFFIXES = regex(
    r"(?:^|/)(?:gnu)?makefile(?:[.-][\w-]+)?$|compose[\w.-]*\.ya?ml\.(?:template|tmpl|example|sample|dist)$|\.mk$|(?:^|/)\.?justfile$|\.(?:txt|cmake|in|toml|lock|ya?ml|json|sh|bash|slurm|sbatch|bat|cmd|ps1|env|md|rst|ipynb|py|cfg)$|dockerfile|containerfile|(?:^|/)\.env"
    r"|(?:^|/)pipfile$|(?:^|/)(?:install|torch)\.js$"
)
# A YAML or JSON file is parsed only when it holds a word of a training configuration: data files cost one look.
_CONFIG_WORDS = (
    "base_model", "model_name_or_path", "mixed_precision", "compute_environment", "finetuning_type", "load_in_4bit", "attn_implementation",
    "flash_attn", "flash_attention", "per_device_train_batch_size", "micro_batch_size", "bnb_4bit", "quantization_bit", "zero_optimization",
    '"bf16"', "quantization_config", "_component_:", "adamw8bit", "AdamW8bit", "optimizer_type", "lora_rank", "network_dim", "sd_trainer",
    "pretrained_model", "fp8", "nvfp4", "dtype:",
)  # fmt: skip


def kind_of(path: str) -> str | None:
    """Which reader wants this path; None for most files of a repository."""
    low = path.lower()
    if not _SUFFIXES.search(low):
        return None
    name = "/" + low.rsplit("/", 1)[-1]
    if any(fits("/" + low, glob) for glob in _NEVER):
        return None
    kind = next((kind for kind, glob in KINDS if fits(name if glob[0] == "/" else low, glob)), None)
    if kind == "guide" and (_HISTORY.search(name) or low.startswith(".github/")):
        return None
    return None if kind == "dockerfile" and any(fits(name, glob) for glob in _PICTURES) else kind


def is_config(text: str) -> bool:
    """True if a YAML or JSON text looks like a training configuration."""
    return any(word in text for word in _CONFIG_WORDS)
