"""A page for each target with all that is known of it, one for each product with what its owner asks first, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.explain.parts import worst_first
from rocm_doctor.explain.statements import builds_with_code, find_rows, first_version, last_version
from rocm_doctor.explain.statements import support_by_system as listed_by_amd
from rocm_doctor.matrix import Matrix, Support, Target
from rocm_doctor.model import NO_FAULT
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.catalog import System
from rocm_doctor.plan.summary import STATES, SYSTEMS, Plans, stack_words, verdict
from website import claims
from website.claims import Claim, at_home, cell, evidence, line, listed, row_home, state, system
from website.plans import more, plans, section, tabs
from website.sources import source
from website.text import Page, esc, heading, items, link, prose, slug, table, wrong

BySystem = dict[System, Plan]
RISKS = 8
CRUMBS = (("", "Home"), ("gpu", "GPUs"))
_SUPPORT = ("ROCm", "System", "State", "Statement", "Source")
_BRANDS = ("Radeon RX ", "Radeon AI ", "Radeon PRO ", "Instinct ")


def pages(matrix: Matrix) -> Iterator[Page]:
    """The table, the targets, the products."""
    found = matrix.once(plans)
    products = by_name(matrix)
    yield _table(matrix, found)
    yield from (_target(matrix, target, found[target.gfx]) for target in matrix.gfx.values())
    yield from (_product(matrix, name, targets, found) for name, targets in products.items())


def by_name(matrix: Matrix) -> dict[str, list[Target]]:
    """Targets by marketing name: a few names are sold with two chips."""
    found: dict[str, list[Target]] = {}
    for target in matrix.gfx.values():
        for name in target.names:
            found.setdefault(name, []).append(target)
    return found


def typed(name: str) -> str:
    """A product as people type it: `RX 6700 XT`, `MI300X`, `AI PRO R9700`; `Radeon VII` stays."""
    brand = next((one for one in _BRANDS if name.startswith(one)), "")
    return name.removeprefix(brand.split()[0] + " ") if brand else name


def home(name: str) -> str:
    """Where the page of a product is."""
    return f"gpu/{slug(typed(name))}"


def _table(matrix: Matrix, found: dict[str, BySystem]) -> Page:
    newest = list(reversed(matrix.gfx.values()))
    rows = (_listed(name, target, found[target.gfx]) for target in newest for name in target.names or ("",))
    columns = ("GPU", "Target", *(f"PyTorch on {system(name)}" for name in SYSTEMS))
    about = "Which torch runs on which AMD GPU with ROCm, on Linux, Windows and WSL: the first plan for every product, with sources on its page."
    body = table(columns, rows, "AMD GPUs and the torch that runs on each", "claims filterable")
    return Page("gpu", "AMD GPUs: PyTorch and ROCm support", about, f"{about}\n\n{body}", CRUMBS[:1])


def _listed(name: str, target: Target, of_target: BySystem) -> str:
    product = link(home(name), esc(name)) if name else "no product"
    stacks = "".join(f"<td>{esc(stack_words(plan))}</td>" for plan in of_target.values())
    return f'<tr><th scope="row">{product}</th><td>{link(f"gpu/{target.gfx}", target.gfx)}</td>{stacks}</tr>'


def _target(matrix: Matrix, target: Target, of_target: BySystem) -> Page:
    names = ", ".join(target.names[:3])
    title = f"{target.gfx} PyTorch ROCm" + (f": {names}" if names else "")
    body = "\n".join(
        [
            *_who(target),
            heading(2, "What to install") + "\n",
            *section(target, of_target),
            more(target.gfx) + "\n",
            *_since(matrix, [target]),
            *_overrides(target),
            *_problems(matrix, target),
            *_components(matrix, target),
            *_wheels(matrix, target),
        ]
    )
    return Page(f"gpu/{target.gfx}", title, _about(title, [target], of_target), body, CRUMBS, "lead", _names([target]))


def _product(matrix: Matrix, name: str, targets: Sequence[Target], found: dict[str, BySystem]) -> Page:
    title = f"{typed(name)} PyTorch ROCm"
    lead = [f"<p>{'<br>'.join(_card(name, target) for target in targets)}</p>\n"]
    if len(targets) > 1:
        lead.append("<p>This name is sold with more than one chip: <code>rocminfo</code> names yours.</p>\n")
    lines = []
    for target in targets:
        of_target = found[target.gfx]
        answer = verdict(Plans(of_target))
        where = "; ".join(f"{system(name)}: {stack_words(plan)}" for name, plan in of_target.items())
        chip = f" ({target.gfx})" if len(targets) > 1 else ""
        lines.append(f'<p class="answer {STATES[answer]}"><strong>{answer}{chip}.</strong> {esc(where)}</p>\n')
        lines += [*tabs(target, of_target), more(target.gfx) + "\n"]
    for target in targets:
        lines += [*_risks(matrix, target), *_overrides(target)]
    lines += [*_in_short(matrix, targets)]
    lines.append(heading(2, "More about this chip", "more") + "\n")
    lines.append(items(_further(matrix, target) for target in targets) + "\n")
    body = "\n".join([*lines[:1], *lead, *lines[1:]])
    return Page(home(name), title, _about(title, targets, found[targets[0].gfx]), body, CRUMBS, "lead", (name, *_names(targets)))


def _names(targets: Sequence[Target]) -> tuple[str, ...]:
    """What people call these chips beside the names of products."""
    words = [word for one in targets for word in (one.gfx, one.family, *one.codename.split(" / "), *one.processors)]
    return tuple(dict.fromkeys(word.replace("*", " ").replace("?", "") for word in words))


def _further(matrix: Matrix, target: Target) -> str:
    problems = sum(row.status not in NO_FAULT for row, _ in find_rows(matrix, target))
    wheels = len(builds_with_code(matrix, target.gfx))
    return f"{link(f'gpu/{target.gfx}', target.gfx)}: {problems} known problems, {wheels} torch builds with its code, component by component"


def _about(title: str, targets: Sequence[Target], of_target: BySystem) -> str:
    """One line for search results."""
    stacks = "; ".join(f"{system(name)}: {stack_words(plan)}" for name, plan in of_target.items())
    return f"{title} ({', '.join(t.gfx for t in targets)}). {stacks}. With sources and dates."


def _card(name: str, target: Target) -> str:
    sizes = next((sizes for card, sizes in target.vram.items() if name.endswith(card)), ())
    memory = f"{' or '.join(f'{size:g}' for size in sizes)} GiB" if sizes else target.memory
    facts = ", ".join(part for part in (target.family, target.codename, memory) if part)
    one = claims.of_target(target)
    return f'<span data-claim="{target.gfx}">{esc(name)} is {link(one.home, target.gfx)}: {esc(facts)}. {evidence(one)}</span>'


def _who(target: Target) -> Iterator[str]:
    one = claims.of_target(target)
    facts = [
        f"{target.family} ({target.codename}), {target.kind}",
        f"gfx_target_version {target.kfd}",
        f"wavefront {target.wavefront}",
        *(f"{kind}: {words}" for kind, words in (("fp16", target.fp16), ("bf16", target.bf16), ("fp8", target.fp8)) if words),
    ]
    yield f'<p data-claim="{target.gfx}">{esc("; ".join(facts))}. {prose(target.notes)} ({at_home(one)}; {wrong(target.gfx)})</p>\n'
    if target.names:
        yield f"<p>Sold as {', '.join(link(home(name), esc(name)) for name in target.names)}.</p>\n"
    if target.processors:
        yield f"<p>In processors named {esc(', '.join(target.processors))}.</p>\n"


def _since(matrix: Matrix, targets: Sequence[Target]) -> Iterator[str]:
    """Support statements by system, the newest first."""
    yield heading(2, "Supported since when, until when", "since") + "\n"
    for target in targets:
        found = sorted((s for s in matrix.support if target.gfx in s.gfx), key=_newest, reverse=True)
        caption = f"What AMD and others say of {target.gfx}, by ROCm release"
        rows = (_support(one) for one in found)
        yield (table(_SUPPORT, rows, caption) or "No source read speaks of it.") + "\n"


def _newest(one: Support) -> tuple[object, ...]:
    return one.os == "linux", last_version(one), first_version(one)


def _risks(matrix: Matrix, target: Target) -> Iterator[str]:
    """What is known to go wrong, as `explain` lists it: the worst first."""
    rows = {row.key: row for row, _ in find_rows(matrix, target)}
    worst = worst_first(rows.values())[:RISKS]
    yield heading(2, f"Known problems of {target.gfx}", f"{target.gfx}-risks") + "\n"
    yield (
        items(f"{link(row_home(row), prose(row.title))} ({state(row.status)}, {row.grade})" for row in worst) or "None is known."
    ) + "\n"


def _in_short(matrix: Matrix, targets: Sequence[Target]) -> Iterator[str]:
    """For each system the first and the last ROCm that AMD lists the GPU for, as `explain` says it."""
    yield heading(2, "Supported since when, until when", "since") + "\n"
    for target in targets:
        columns = ("System", "ROCm that AMD lists it for", "Source")
        rows = (f'<tr data-claim="{target.gfx}"><th scope="row">{system(name)}</th><td>{esc(first)} to {esc(last)}</td><td>{source(said)}</td></tr>'
                for name, first, last, said in listed_by_amd(matrix, target))  # fmt: skip
        yield (table(columns, rows, f"Support of {target.gfx} in short") or "AMD lists it for no release that was read.") + "\n"


def _support(one: Support) -> str:
    said = claims.of_support(one)
    to = f" to {one.until}" if one.until and one.until != one.since else "" if one.until else " and later"
    words = prose(one.words) + (f" ({prose(one.scope)})" if one.scope else "")
    cells = "".join(f"<td>{part}</td>" for part in (system(one.os), state(one.state), words))
    return f'<tr data-claim="{esc(one.key)}"><th scope="row">{esc(one.since + to)}</th>{cells}{cell(said)}</tr>'


def _overrides(target: Target) -> Iterator[str]:
    if target.overrides:
        yield heading(2, f"{claims.OVERRIDE} on {target.gfx}", f"override-{target.gfx}") + "\n"
        found = (claims.of_override(target, one) for one in target.overrides)
        yield listed(found, f"Values of {claims.OVERRIDE} that people set on {target.gfx}") + "\n"


def _problems(matrix: Matrix, target: Target) -> Iterator[str]:
    found = [(row, claims.of_row(row, rest)) for row, rest in find_rows(matrix, target)]
    for title, works in (("Known problems", False), ("Known to work", True)):
        yield from _titled(title, (one for row, one in found if (row.status in NO_FAULT) is works), target)


def _components(matrix: Matrix, target: Target) -> Iterator[str]:
    yield from _titled("Component by component", (claims.of_fact(f) for f in matrix.facts if target.gfx in f.gfx), target)


def _titled(title: str, found: Iterable[Claim], target: Target) -> Iterator[str]:
    if rows := [line(one) for one in found]:
        yield heading(2, title) + "\n"
        yield table(claims.COLUMNS, rows, f"{title}: {target.gfx}") + "\n"


def _wheels(matrix: Matrix, target: Target) -> Iterator[str]:
    """The builds with its code; each leads to its page, which has the sources."""
    rows = []
    for build in builds_with_code(matrix, target.gfx):
        blas = "not known" if not build.blas else "yes" if target.gfx in build.blas else "no"
        cells = (link(claims.of_build(build).home, esc(build.key)), blas, esc(" ".join(build.pythons)))
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    if rows:
        yield heading(2, "torch builds with its code", "wheels") + "\n"
        yield table(("torch", "rocBLAS kernels", "Python"), rows, f"torch builds with code for {target.gfx}") + "\n"
