"""Trained models: text, logits, losses, and the same model in PyTorch."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from dsf._library import Text, check, library, pass_on_messages
from dsf.errors import UsageError

if TYPE_CHECKING:
    from torch import nn

_Tokens = ctypes.POINTER(ctypes.c_int32)


class _Sampling(ctypes.Structure):
    """dsf_sampling."""

    _fields_ = [
        ("temperature", ctypes.c_double),
        ("top_k", ctypes.c_int64),
        ("top_p", ctypes.c_double),
        ("min_p", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    ]


class _Evaluation(ctypes.Structure):
    """dsf_evaluation."""

    _fields_ = [
        ("split", ctypes.c_char_p),
        ("data", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("text_size", ctypes.c_size_t),
        ("stream", ctypes.c_int),
    ]


def load(run: Union[str, os.PathLike[str]], checkpoint: str = "", *, threads: int = 0) -> Model:
    """The model of a run directory.

    ``checkpoint``: "best" or "last"; without it, the best one and, if that is damaged, the newest that is whole.
    ``threads`` 0: as many as there are CPUs.
    """
    if checkpoint not in ("", "best", "last"):
        raise UsageError(f"checkpoint {checkpoint!r} is not known; known: best, last")
    handle = ctypes.c_void_p()
    check(library().dsf_model_open(os.fsencode(run), checkpoint.encode(), threads, ctypes.byref(handle)))
    pass_on_messages()
    return Model(handle)


class Model:
    """A trained language model; ``dsf.load`` makes one. Calls from several threads take turns.

    ``run``, ``checkpoint`` and ``step`` say where it comes from, ``config`` is the run's configuration by sections,
    ``vocab`` the size of the vocabulary, ``parameters`` the number of parameters.
    """

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._closer = weakref.finalize(self, library().dsf_model_close, handle)
        text = Text()
        check(library().dsf_model_describe(handle, ctypes.byref(text)))
        about = json.loads(text.value)
        self.run = Path(about["run"])
        self.checkpoint: str = about["checkpoint"]
        self.step: int = about["step"]
        self.vocab: int = about["vocab"]
        self.parameters: int = about["parameters"]
        self.tokenizer: str = about["tokenizer"]
        self.bos: int = about["bos"]
        self.eos: int = about["eos"]
        self.config: dict[str, dict[str, Any]] = about["config"]
        self._first_token: int = about["first_token"]

    def __repr__(self) -> str:
        """What kind of model it is, and where from."""
        model = self.config["model"]
        shape = f"{model['mixer']} {model['layers']}x{model['hidden']}"
        return f"Model({str(self.run)!r}, {shape}, vocabulary {self.vocab}, step {self.step})"

    def encode(self, text: str) -> list[int]:
        """The tokens of a text. A line end is ``eos``."""
        data = text.encode()
        tokens, count = _Tokens(), ctypes.c_int64()
        check(library().dsf_model_encode(self._handle, data, len(data), ctypes.byref(tokens), ctypes.byref(count)))
        return tokens[: count.value]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        text = Text()
        check(library().dsf_model_decode(self._handle, _array(tokens), len(tokens), ctypes.byref(text)))
        return text.value.decode(errors="replace")

    def generate(
        self,
        prompt: str = "",
        tokens: int = 200,
        temperature: float = 1.0,
        seed: int = 1,
        *,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
    ) -> Iterator[str]:
        """An iterator of the text that follows ``prompt``, piece by piece, ``tokens`` tokens long.

        ``"".join(model.generate("Once"))`` is the whole of it. The arguments are those of ``dsf generate``, and so
        is the text: the same seed gives the same one.
        """
        sampling = _Sampling(temperature, top_k, top_p, min_p, seed)
        data = prompt.encode()
        handle = ctypes.c_void_p()
        check(
            library().dsf_generation_open(self._handle, data, len(data), ctypes.byref(sampling), ctypes.byref(handle))
        )
        return self._pieces(handle, tokens)

    def _pieces(self, handle: ctypes.c_void_p, tokens: int) -> Iterator[str]:
        text = Text()
        try:
            for _ in range(tokens):
                check(library().dsf_generation_next(handle, ctypes.byref(text)))
                if text.size:
                    yield text.value.decode()
            check(library().dsf_generation_finish(handle, ctypes.byref(text)))
            if text.size:
                yield text.value.decode()
        finally:
            library().dsf_generation_close(handle)

    def logits(self, text: Union[str, Sequence[int]]) -> Any:
        """Logits [T, vocab] of a text or of tokens, read from a zero state.

        Row t is for the token behind token t. Before a text stands the token that sequences begin with in training, so
        that row 0 is for its first token; tokens are read as they are. The result is a tensor of PyTorch's if that is
        installed, and a memoryview of shape [T, vocab] otherwise.
        """
        tokens = [self._first_token, *self.encode(text)] if isinstance(text, str) else list(text)
        if not tokens:
            raise UsageError("logits: there are no tokens to read")
        buffer = bytearray(4 * len(tokens) * self.vocab)
        values = (ctypes.c_float * (len(tokens) * self.vocab)).from_buffer(buffer)
        check(library().dsf_model_logits(self._handle, _array(tokens), len(tokens), values))
        try:
            import torch
        except ImportError:
            return memoryview(buffer).cast("f", [len(tokens), self.vocab])
        return torch.frombuffer(buffer, dtype=torch.float32).view(len(tokens), self.vocab)

    def evaluate(
        self,
        split: str = "valid",
        *,
        text: Optional[str] = None,
        file: Union[str, os.PathLike[str], None] = None,
        data: Union[str, os.PathLike[str], None] = None,
        stream: bool = False,
    ) -> dict[str, Any]:
        """Loss, perplexity and more, as ``dsf eval --json`` prints them.

        On a split of the run's corpus ("train", "valid", "test"; ``data`` if the corpus has moved), on a text, or
        on a text file. ``stream`` carries one state through the whole text.
        """
        given = None if text is None else text.encode()
        request = _Evaluation(
            split.encode(),
            None if data is None else os.fsencode(data),
            None if file is None else os.fsencode(file),
            given,
            len(given or b""),
            stream,
        )
        answer = Text()
        check(library().dsf_model_evaluate(self._handle, ctypes.byref(request), ctypes.byref(answer)))
        report: dict[str, Any] = json.loads(answer.value)
        pass_on_messages()
        return report

    def perplexity(self, text: str) -> float:
        """The perplexity of a text, cut into sequences as the training text was."""
        return float(self.evaluate(text=text)["perplexity"])

    def parameter_buffers(self) -> dict[str, tuple[tuple[int, ...], memoryview]]:
        """Shape and values (float32) of each parameter, by PyTorch's names. The memory is the model's: copy it."""
        found = {}
        shape = (ctypes.c_int64 * 2)()
        name, data = ctypes.c_char_p(), ctypes.POINTER(ctypes.c_float)()
        for index in range(library().dsf_model_parameter_count(self._handle)):
            check(
                library().dsf_model_parameter(
                    self._handle, ctypes.c_int64(index), ctypes.byref(name), shape, ctypes.byref(data)
                )
            )
            sizes = tuple(size for size in shape if size > 0)
            count = sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
            values = ctypes.cast(data, ctypes.POINTER(ctypes.c_float * count)).contents
            found[(name.value or b"").decode()] = (sizes, memoryview(values).cast("B"))
        return found

    def export(self, file: Union[str, os.PathLike[str]], *, force: bool = False) -> Path:
        """A safetensors file with PyTorch's names and gate order, and a config.json beside it: ``dsf export``."""
        return self._export(file, False, force)

    def to_onnx(self, file: Union[str, os.PathLike[str]], *, force: bool = False) -> Path:
        """Writes an ONNX file, and a config.json with the tokenizer beside it: ``dsf export --format onnx``.

        Inputs are tokens [time, batch] and the state, outputs the logits and the next state; time and batch may differ
        from call to call. Without ``force`` nothing that is there is replaced.
        """
        return self._export(file, True, force)

    def _export(self, file: Union[str, os.PathLike[str]], onnx: bool, force: bool) -> Path:
        check(library().dsf_model_export(self._handle, os.fsencode(file), onnx, force))
        return Path(file)

    def to_torch(self) -> nn.Module:
        """The same model as a module of PyTorch's: tokens [B, T] to logits [B, T, vocab].

        Its recurrent layers are those of ``dsf.nn`` with the run's feedback, so that it can be trained on. The
        parameters are copies. Models whose mixer is attention or ema are refused: examples/load_in_pytorch.py has
        them.
        """
        from dsf.torch_model import build

        return build(self)


def _array(tokens: Sequence[int]) -> ctypes.Array[ctypes.c_int32]:
    return (ctypes.c_int32 * len(tokens))(*tokens)
