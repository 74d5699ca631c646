"""dsf: recurrent networks that train fast.

``import dsf`` does not import PyTorch; ``import dsf.nn`` does. It holds layers with the signatures of
``torch.nn.RNN``, ``GRU`` and ``LSTM`` and a choice of how gradients go back in time. Language models are trained by
``dsf.train`` and opened by ``dsf.load``; ``dsf.runs`` and ``dsf.log`` tell what run directories hold.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version_of

from dsf.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DivergenceError,
    Error,
    FileError,
    InternalError,
    NativeMissingError,
    RunWarning,
    UsageError,
)
from dsf.model import Model, load
from dsf.runs import Run, log, runs
from dsf.training import train

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "DivergenceError",
    "Error",
    "FileError",
    "InternalError",
    "Model",
    "NativeMissingError",
    "Run",
    "RunWarning",
    "UsageError",
    "__version__",
    "load",
    "log",
    "runs",
    "train",
]

# The number itself stands in one place, the project() line of CMakeLists.txt; the build copies it into the
# metadata of the distribution.
try:
    __version__: str = _version_of("dsf-rnn")
except PackageNotFoundError:  # the sources are on the path, but the distribution was never installed
    __version__ = "0+unknown"
