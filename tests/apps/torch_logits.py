"""torch_logits.py F.safetensors ID...: the logits of all steps, one number per line."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import load_in_pytorch  # noqa: E402
import torch  # noqa: E402

model, _ = load_in_pytorch.load(sys.argv[1])
with torch.no_grad():
    logits = model(torch.tensor([[int(token) for token in sys.argv[2:]]]))
for value in logits.flatten().tolist():
    print(repr(value))
