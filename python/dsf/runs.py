"""Run directories: what lies below a directory, and the log of a run, as plain lists of dictionaries."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from dsf._library import Text, check, library, pass_on_messages

if TYPE_CHECKING:
    from dsf.model import Model

PathName = Union[str, os.PathLike[str]]


def runs(directory: PathName = ".") -> list[dict[str, Any]]:
    """The runs at or below a directory, by name, each with what ``dsf runs --json`` tells about it.

    ``pandas.DataFrame(dsf.runs("runs"))`` is a table of them.
    """
    text = Text()
    check(library().dsf_runs(os.fsencode(directory), ctypes.byref(text)))
    found: list[dict[str, Any]] = json.loads(text.value)
    pass_on_messages()
    return found


def log(run: PathName, event: Optional[str] = None) -> list[dict[str, Any]]:
    """The lines of a run's log, or those of one event: "train", "eval", "start", "done", "interrupted", ...

    ``pandas.DataFrame(dsf.log(run, "eval"))`` has a row for each evaluation.
    """
    text = Text()
    check(library().dsf_run_log(os.fsencode(run), ctypes.byref(text)))
    lines: list[dict[str, Any]] = json.loads(text.value)
    return [line for line in lines if event is None or line.get("event") == event]


class Run:
    """A run that ``dsf.train`` has trained. ``summary`` is the last line of its log."""

    def __init__(self, path: PathName, summary: dict[str, Any]) -> None:
        self.path = Path(path)
        self.summary = summary

    def log(self, event: Optional[str] = None) -> list[dict[str, Any]]:
        """As ``dsf.log``."""
        return log(self.path, event)

    def load(self, checkpoint: str = "") -> Model:
        """As ``dsf.load``."""
        from dsf.model import load

        return load(self.path, checkpoint)

    def __repr__(self) -> str:
        """Its path and how it ended."""
        return f"Run({str(self.path)!r}, {self.summary.get('event', 'unknown')} at step {self.summary.get('steps', 0)})"
