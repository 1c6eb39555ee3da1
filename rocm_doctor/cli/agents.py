"""`rocm-doctor agents`: the text that tells a coding agent when to call what."""

from __future__ import annotations

from pathlib import Path

import click

from rocm_doctor.bounded import files
from rocm_doctor.cli.delivery import write_page
from rocm_doctor.cli.options import output_option

_SKILL = Path(__file__).parent.parent / "integrations" / "agents" / "SKILL.md"


@click.command(
    epilog="Examples:  rocm-doctor agents >> AGENTS.md;  rocm-doctor agents --print skill -o .claude/skills/rocm-doctor/SKILL.md"
)
@click.option(
    "--print",
    "kind",
    type=click.Choice(("agents", "skill")),
    default="agents",
    show_default=True,
    help="For AGENTS.md, or a skill with its head.",
)
@output_option
def command(kind: str, output: Path | None) -> None:
    """Print when a coding agent calls which tool (`rocm-doctor mcp`) or command, and how it reads the answer."""
    skill = files.text(_SKILL)
    write_page(skill if kind == "skill" else skill.split("---\n", 2)[2].lstrip(), output)
