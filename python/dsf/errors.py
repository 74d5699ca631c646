"""What goes wrong in the native part, as exceptions; the sentences are those of the program ``dsf``."""

from __future__ import annotations


class Error(Exception):
    """Any error of the library; the ones below say which."""


class UsageError(Error, ValueError):
    """Something was asked for that cannot be: a directory that is not a run, an option out of its range."""


class ConfigError(Error, ValueError):
    """A configuration file or key that is unknown, of the wrong type or out of range."""


class DataError(Error, ValueError):
    """A corpus, tokenizer or model to import that is missing, empty, or not what was asked for."""


class CheckpointError(Error):
    """A checkpoint that is missing, damaged, or of another model."""


class DivergenceError(Error, ArithmeticError):
    """Training left the finite numbers."""


class FileError(Error, OSError):
    """The operating system refused to open, write or rename a file."""


class InternalError(Error, RuntimeError):
    """A fault of the library itself."""


class NativeMissingError(Error, ImportError):
    """The native part of the package cannot be loaded; the message says why."""


class RunWarning(UserWarning):
    """What the library has to say about a run although it goes on: a loss that jumps, text that is cut off."""
