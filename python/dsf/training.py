"""Training of language models: ``dsf train`` as a function."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Callable, Optional, Union

from dsf._library import Text, check, library, pass_on_messages
from dsf.runs import Run

Report = dict[str, Any]
Callback = Callable[[Report], Optional[bool]]

_NativeCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)


class _Request(ctypes.Structure):
    """dsf_train_request."""

    _fields_ = [
        ("out", ctypes.c_char_p),
        ("config_file", ctypes.c_char_p),
        ("names", ctypes.POINTER(ctypes.c_char_p)),
        ("values", ctypes.POINTER(ctypes.c_char_p)),
        ("count", ctypes.c_int64),
        ("resume", ctypes.c_int),
        ("force", ctypes.c_int),
        ("force_memory", ctypes.c_int),
        ("verbose", ctypes.c_int),
        ("tell_steps", ctypes.c_int),
    ]


def train(
    data: Union[str, os.PathLike[str], None] = None,
    *,
    out: Union[str, os.PathLike[str]],
    config: Union[str, os.PathLike[str], None] = None,
    resume: bool = False,
    force: bool = False,
    force_memory: bool = False,
    verbose: bool = False,
    on_step: Optional[Callback] = None,
    on_eval: Optional[Callback] = None,
    **keys: Any,
) -> Run:
    """Trains a language model into the run directory ``out``, as ``dsf train`` does, and returns the run.

    ``data`` is a text file, a directory with a corpus, or ``"synthetic:recall"`` (the key data.corpus). All other
    keys of the configuration are keywords: ``hidden=128``, ``lr=0.003``, ``feedback="dsf"``; also as
    ``**{"train.lr": 0.003}`` or by sections, ``train={"lr": 0.003}``. They have precedence over ``config``, a TOML
    file. A key that is not known is refused with the nearest one (ConfigError). ``dsf train --help-config`` lists
    all of them.

    ``resume`` goes on with the run in ``out``, ``force`` replaces it, ``force_memory`` trains even if the machine's
    memory seems too small. ``verbose`` shows the progress on stderr; without it only warnings are given, as
    ``dsf.RunWarning``.

    ``on_step`` is called after every step and ``on_eval`` after every evaluation, each with a dictionary that has
    the keys of the run's log. If one of them returns True, or raises, the run is saved and ends after that step;
    what it raised is raised again from here. ``Run.summary["event"]`` is then "interrupted" instead of "done".

    Ctrl-C saves the run after the step at hand and then raises KeyboardInterrupt; ``resume=True`` goes on from there.
    """
    names, values = _keywords(({} if data is None else {"data": data}) | keys)
    request = _Request(
        os.fsencode(out),
        None if config is None else os.fsencode(config),
        (ctypes.c_char_p * len(names))(*names),
        (ctypes.c_char_p * len(values))(*values),
        len(names),
        resume,
        force,
        force_memory,
        verbose,
        on_step is not None,
    )
    caller = _Caller({"step": on_step, "eval": on_eval})
    summary = Text()
    with _held_interrupt(caller):
        status = library().dsf_train(ctypes.byref(request), _NativeCallback(caller), ctypes.byref(summary))
        found = json.loads(summary.value) if status == 0 else {}
        pass_on_messages()
        caller.raise_again()
        check(status)
    return Run(out, found)


class _Caller:
    """What the library calls. No exception may leave it: ctypes would print and forget it."""

    def __init__(self, callbacks: Mapping[str, Optional[Callback]]) -> None:
        self._callbacks = callbacks
        self._raised: Optional[BaseException] = None
        self.stops = False

    def __call__(self, event: bytes, report: bytes) -> int:
        try:
            pass_on_messages()
            callback = self._callbacks.get(event.decode())
            if callback is not None and callback(json.loads(report)) is True:
                self.stops = True
        except BaseException as error:  # raised again by raise_again(), when the run is saved
            self._raised = self._raised or error
            self.stops = True
        return int(self.stops)

    def raise_again(self) -> None:
        """Raises what a callback raised first."""
        if self._raised is not None:
            raise self._raised


@contextmanager
def _held_interrupt(caller: _Caller) -> Iterator[None]:
    """Holds Ctrl-C back until the run is saved, and then hands it to whoever handled it before."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    seen: list[Optional[FrameType]] = []

    def note(_signal: int, frame: Optional[FrameType]) -> None:
        seen.append(frame)
        caller.stops = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        before(signal.SIGINT, seen[0])


def _keywords(keys: Mapping[str, Any]) -> tuple[list[bytes], list[bytes]]:
    """Names and values as text; a dictionary is a section."""
    names, values = [], []
    for name, value in keys.items():
        inside = value.items() if isinstance(value, Mapping) else [("", value)]
        for key, inner in inside:
            names.append((f"{name}.{key}" if key else name).encode())
            values.append(_text_of(inner))
    return names, values


def _text_of(value: Any) -> bytes:
    """A value as it would stand behind ``--set``."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, (str, os.PathLike)):
        return os.fsencode(value)
    if isinstance(value, (list, tuple)):
        return b"[" + b", ".join(_text_of(element) for element in value) + b"]"
    return str(value).encode()
