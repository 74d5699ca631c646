"""Finds and loads the native part of the package, ``libdsf_native.so``, and turns its errors into exceptions.

``python/native/dsf_native.h`` is what it offers. Nothing is loaded before the first call of ``library()``.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import sys
import warnings
from pathlib import Path
from typing import Any, Optional

from dsf import errors

_NAME = "libdsf_native.so"
_REASON = "native_missing.txt"  # what the build leaves in its place, see cmake/DsfPurePython.cmake

# The numbers of dsf_status.
_EXCEPTIONS: dict[int, type[BaseException]] = {
    1: errors.UsageError,
    2: errors.ConfigError,
    3: errors.DataError,
    4: errors.CheckpointError,
    5: errors.DivergenceError,
    6: KeyboardInterrupt,
    7: errors.FileError,
    8: MemoryError,
    9: errors.Error,
    10: errors.InternalError,
}


def _machine_problem(cpuinfo: Path = Path("/proc/cpuinfo")) -> Optional[str]:
    """Why this machine cannot run the library, or None. It is asked first: the library's code needs AVX2."""
    if not sys.platform.startswith("linux"):
        return f"it exists for Linux only, and this is {sys.platform}"
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"it needs an x86-64 CPU with AVX2 and FMA, and this machine is {platform.machine()}"
    try:
        flags = re.search(r"^flags\s*:(.*)$", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        return None  # nobody tells; the build was for a machine like this one
    lacking = {"avx2", "fma"} - set(flags.group(1).split()) if flags else set()
    if lacking:
        return f"it needs a CPU with AVX2 and FMA (2013 and later); this one lacks {' and '.join(sorted(lacking))}"
    return None


def _find() -> Path:
    """The file to load: what DSF_NATIVE_LIBRARY names (a debug build, say), or the package's own."""
    named = os.environ.get("DSF_NATIVE_LIBRARY")
    if named:
        return Path(named)
    import dsf

    directories = [Path(directory) for directory in dsf.__path__]  # two of them if it is installed in place
    for directory in directories:
        if (directory / _NAME).exists():
            return directory / _NAME
    for directory in directories:
        if (directory / _REASON).exists():
            why = (directory / _REASON).read_text().strip()
            raise errors.NativeMissingError(f"the package was built without it: {why}")
    looked_in = ", ".join(str(directory) for directory in directories)
    raise errors.NativeMissingError(f"there is no {_NAME} in {looked_in}")


class Text(ctypes.Structure):
    """dsf_text: bytes that live until the next call on this thread."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    @property
    def value(self) -> bytes:
        """A copy of them."""
        return ctypes.string_at(self.data, self.size)


# Of the functions that take more than pointers and ints of C's.
_ARGUMENTS: dict[str, list[Any]] = {
    "dsf_model_open": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p],
    "dsf_model_encode": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p],
    "dsf_model_decode": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p],
    "dsf_model_logits": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p],
    "dsf_model_export": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int],
    "dsf_model_parameter": [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p],
    "dsf_generation_open": [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p],
}


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library. Raises NativeMissingError with the reason if it cannot be loaded."""
    problem = _machine_problem()
    if problem is not None:
        raise errors.NativeMissingError(problem)
    path = _find()
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise errors.NativeMissingError(f"{path} cannot be loaded: {error}") from error
    loaded.dsf_last_error.restype = ctypes.c_char_p
    loaded.dsf_library_version.restype = ctypes.c_char_p
    loaded.dsf_model_close.restype = loaded.dsf_generation_close.restype = loaded.dsf_keep_messages.restype = None
    loaded.dsf_model_parameter_count.restype = ctypes.c_int64
    for name, types in _ARGUMENTS.items():
        getattr(loaded, name).argtypes = types
    loaded.dsf_keep_messages()
    return loaded


def pass_on_messages() -> None:
    """Gives the messages of the library to whom they belong: warnings to ``warnings``, the rest to stderr."""
    kind, text = ctypes.c_int(), Text()
    while True:
        check(library().dsf_next_message(ctypes.byref(kind), ctypes.byref(text)))
        if kind.value < 0:
            return
        message = text.value.decode(errors="replace")
        if kind.value == 1:
            warnings.warn(message, errors.RunWarning, stacklevel=3)
        else:
            print(message, file=sys.stderr)


def check(status: int) -> None:
    """Raises the exception for what a function of the library returned, unless that is 0."""
    if status == 0:
        return
    message = library().dsf_last_error().decode(errors="replace")
    raise _EXCEPTIONS.get(status, errors.InternalError)(message)
