"""Progress of long work: a bar, a callback, or nothing."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

Callback = Callable[[str, int, int], None]


class Listener:
    """Receives the reports of a job: shows a bar, calls a callback, keeps the training rounds."""

    def __init__(self, verbose: int = 0, callback: Optional[Callback] = None) -> None:
        self.rounds: list[dict[str, float]] = []
        self._callback = callback
        self._bar: Any = _bar() if verbose else None
        self._rounds_shown = verbose if isinstance(verbose, int) and verbose > 1 else 0

    def update(self, stage: str, done: int, total: int) -> None:
        if self._callback is not None:
            self._callback(stage, done, total)
        if self._bar is not None:
            self._bar.show(stage, done, total)

    def round(self, values: dict[str, float]) -> None:
        self.rounds.append(values)
        if self._rounds_shown and self._bar is not None:
            self._bar.write("  ".join(f"{name} {value:.5g}" for name, value in values.items()))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


class _Tqdm:
    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._stage = ""

    def show(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or stage != self._stage or total != self._bar.total:
            self.close()
            self._bar = self._tqdm(total=total, desc=stage, file=sys.stderr)
            self._stage = stage
        self._bar.n = done
        self._bar.refresh()

    def write(self, text: str) -> None:
        self._tqdm.write(text, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Line:
    """Without tqdm: one line, rewritten, in a terminal; one line per stage elsewhere."""

    def __init__(self) -> None:
        self._stage = ""
        self._open = False

    def show(self, stage: str, done: int, total: int) -> None:
        if sys.stderr.isatty():
            if self._open and stage != self._stage:
                sys.stderr.write("\n")
            sys.stderr.write(f"\r{stage}: {done} of {total}")
            self._open = True
        elif stage != self._stage:
            sys.stderr.write(f"{stage}\n")
        self._stage = stage
        sys.stderr.flush()

    def write(self, text: str) -> None:
        self.close()
        sys.stderr.write(text + "\n")

    def close(self) -> None:
        if self._open:
            sys.stderr.write("\n")
            self._open = False
