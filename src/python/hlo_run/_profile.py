"""The profile of a run."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from hlo_run._core import Instruction


@dataclasses.dataclass(frozen=True)
class Row:
    """The executions of one instruction. A fused loop is named after its last instruction."""

    instruction: Instruction
    kernel: str
    runs: int
    seconds: float
    flops: float
    bytes: float


class Profile:
    """The run time by instruction. `rows` is sorted by decreasing time."""

    def __init__(self, engine: str, measured: dict[str, Any]) -> None:
        self.engine = engine
        self.seconds: float = measured["seconds"]
        self.watched_seconds: float = measured["watched_seconds"]
        self.rows = [Row(**row) for row in measured["rows"]]
        self._chrome_trace: str = measured["chrome_trace"]

    def by_opcode(self) -> dict[str, float]:
        """Returns the seconds of each opcode, sorted by decreasing time."""
        seconds: dict[str, float] = {}
        for row in self.rows:
            seconds[row.instruction.opcode] = seconds.get(row.instruction.opcode, 0) + row.seconds
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    def write_chrome_trace(self, path: str | os.PathLike) -> None:
        """Writes a trace for Chrome's viewer or Perfetto."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._chrome_trace)

    def __str__(self) -> str:
        lines = [f"engine {self.engine}: {self.seconds * 1e3:.4f} ms; {self.watched_seconds * 1e3:.4f} ms under observation",
                 f"{'ms':>10} {'%':>6} {'runs':>9} {'GFLOP/s':>9} {'GB/s':>8}  instruction"]
        for row in self.rows[:20]:
            share = row.seconds / self.watched_seconds * 100 if self.watched_seconds > 0 else 0
            rate = 1 / row.seconds / 1e9 if row.seconds > 0 else 0
            lines.append(f"{row.seconds * 1e3:10.4f} {share:6.1f} {row.runs:9} {row.flops * rate:9.3g} "
                         f"{row.bytes * rate:8.3g}  {row.instruction.opcode} {row.instruction.name} ({row.kernel})")
        if len(self.rows) > 20:
            lines.append(f"{'...':>10} and {len(self.rows) - 20} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Profile: {self.seconds * 1e3:.4f} ms, {len(self.rows)} instructions>"

    def _repr_html_(self) -> str:
        from hlo_run._html import profile_html
        return profile_html(self)
