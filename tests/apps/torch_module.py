"""torch_module.py KIND V D LAYERS OUT ID...: a PyTorch language model with random weights.

Writes its weights to OUT as safetensors and prints its logits of the ids, one number per line.
"""

import json
import struct
import sys

import torch
from torch import nn


class Model(nn.Module):  # the parts and names of PyTorch's own word_language_model example
    def __init__(self, kind, vocab, width, layers):
        super().__init__()
        self.encoder = nn.Embedding(vocab, width)
        self.rnn = getattr(nn, kind)(width, width, layers, batch_first=True)
        self.decoder = nn.Linear(width, vocab)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


def write_safetensors(tensors, path):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


kind, vocab, width, layers, out = sys.argv[1:6]
torch.manual_seed(1)
model = Model(kind, int(vocab), int(width), int(layers))
write_safetensors(model.state_dict(), out)
with torch.no_grad():
    logits = model(torch.tensor([[int(token) for token in sys.argv[6:]]]))
for value in logits.flatten().tolist():
    print(repr(value))
