"""The HTML representations in notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Iterable, Sequence

if TYPE_CHECKING:
    from hlo_run._module import Module
    from hlo_run._profile import Profile
    from hlo_run.jax import Comparison

_MOST_LINES = 200


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def module_html(module: Module) -> str:
    """Returns the module's parameters and result, and its computations in foldable sections."""
    entry = module.entry
    parts = [f"<b>{html.escape(module.name)}</b>: {len(module.computations)} computations, "
             f"{sum(len(c) for c in module.computations)} instructions",
             _table(["", "name", "shape"], [(f"parameter {i}", p.name, p.shape) for i, p in enumerate(entry.parameters)]
                    + [("result", entry.root.name, entry.root.shape)])]
    for computation in reversed(module.computations):
        lines = str(computation).splitlines()
        shown = "\n".join(lines[:_MOST_LINES] + (["..."] if len(lines) > _MOST_LINES else []))
        opened = " open" if computation.is_entry else ""
        parts.append(f"<details{opened}><summary>{html.escape(computation.name)}: {len(computation)} instructions</summary>"
                     f"<pre>{html.escape(shown)}</pre></details>")
    return "<div>" + "".join(parts) + "</div>"


def profile_html(profile: Profile) -> str:
    """Returns a table of the slowest instructions."""
    rows = [(f"{row.seconds * 1e3:.4f}", row.runs, row.instruction.opcode, row.instruction.name, row.kernel)
            for row in profile.rows[:20]]
    return (f"<div>engine {html.escape(profile.engine)}: {profile.seconds * 1e3:.4f} ms"
            + _table(["ms", "runs", "opcode", "instruction", "kernel"], rows) + "</div>")


def comparison_html(comparison: Comparison) -> str:
    """Returns a row per result."""
    rows = [(path or "result", "agrees" if report.ok else "differs", report.rule, f"{report.mismatch_count} of {report.element_count}",
             "0" if report.worst_abs is None else f"{report.worst_abs:.3g}")
            for path, report in comparison.reports.items()]
    return "<div>" + _table(["result", "", "rule", "mismatches", "largest difference"], rows) + "</div>"
