"""dsf: recurrent networks that train fast.

``import dsf`` does not import PyTorch; ``import dsf.nn`` does. It holds layers with the signatures of
``torch.nn.RNN``, ``GRU`` and ``LSTM`` and a choice of how gradients go back in time.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version_of

__all__ = ["__version__"]

# The number itself stands in one place, the project() line of CMakeLists.txt; the build copies it into the
# metadata of the distribution.
try:
    __version__: str = _version_of("dsf-rnn")
except PackageNotFoundError:  # the sources are on the path, but the distribution was never installed
    __version__ = "0+unknown"
