"""The style sheet of the HTML report: system fonts, one column, colours for light and dark."""

from __future__ import annotations

STYLE = """
:root { --bg: #fbfbfa; --fg: #1b1c1e; --dim: #5d6168; --line: #dcdee2; --card: #fff; --link: #0b57b0; --pre: #f0f1f3;
  --error: #b3261e; --warning: #8a5a00; --note: #24618f; --ready: #1b6b35; --error-bg: #fdeceb;
  --warning-bg: #fdf4e1; --note-bg: #e9f2fa; }
@media (prefers-color-scheme: dark) { :root { --bg: #141517; --fg: #e6e7e9; --dim: #a0a5ad; --line: #34373c; --card: #1c1e21;
  --link: #8ab8f5; --pre: #0e0f10; --error: #f2938c; --warning: #e7b75a; --note: #8fc1ea; --ready: #7fce97;
  --error-bg: #3a1d1b; --warning-bg: #37290f; --note-bg: #172a3a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: var(--bg); color: var(--fg);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header { border-left: .4rem solid var(--note); padding: .2rem 0 .2rem 1rem; margin-bottom: 1.5rem; }
header.ready { border-color: var(--ready); } header.problems { border-color: var(--error); }
header.undetermined { border-color: var(--warning); }
.mark { margin: 0; font-weight: 700; } .ready .mark { color: var(--ready); } .problems .mark { color: var(--error); }
.undetermined .mark { color: var(--warning); }
h1 { font-size: 1.35rem; line-height: 1.3; margin: .2rem 0; } h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; } header p:last-child, .dim { color: var(--dim); font-size: .875rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 600; border-left: .25rem solid transparent; }
tr.error { background: var(--error-bg); } tr.warning { background: var(--warning-bg); } tr.note { background: var(--note-bg); }
tr.error th[scope] { border-left-color: var(--error); } tr.warning th[scope] { border-left-color: var(--warning); }
tr.note th[scope] { border-left-color: var(--note); } tr.unknown td, td:empty { color: var(--dim); font-style: italic; }
article { background: var(--card); border: 1px solid var(--line); border-left: .25rem solid var(--note); border-radius: .3rem;
  padding: .8rem 1rem; margin: 0 0 1rem; } article.error { border-left-color: var(--error); }
article.warning { border-left-color: var(--warning); } article p { margin: .4rem 0; }
pre { background: var(--pre); padding: .6rem .8rem; border-radius: .3rem; white-space: pre-wrap; margin: .4rem 0; }
pre, code { font-family: ui-monospace, monospace; font-size: .875rem; } ul { padding-left: 1.2rem; }
summary { cursor: pointer; } a { color: var(--link); } q { quotes: none; color: var(--dim); }
td:nth-child(2) { min-width: 8rem; }
@media (max-width: 40rem) { body { padding: .7rem; } thead { display: none; }
  tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  th, td { display: block; border: 0; padding: .1rem .6rem; } tbody th { border: 0; } td:empty { display: none; }
  td[data-name]::before { content: attr(data-name) ": "; color: var(--dim); } }
@media print { details { display: block; } article { break-inside: avoid; } }
"""
