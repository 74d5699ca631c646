"""Recurrent layers for PyTorch with a choice of how gradients go back in time.

    from dsf.nn import GRU
    layer = GRU(64, 256, feedback="dsf")      # otherwise as torch.nn.GRU

``RNN``, ``GRU`` and ``LSTM`` have the signatures, outputs and parameters of ``torch.nn``'s; the default feedback,
``"bptt"``, has their gradients. ``convert`` swaps the layers of a whole model. ``reference`` is the
definition in plain loops, in float64, that tests compare with.
"""

from dsf.nn._native import NativeMissingWarning
from dsf.nn.convert import convert
from dsf.nn.modules import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN", "NativeMissingWarning", "convert", "reference"]

from dsf.nn import reference
