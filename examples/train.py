"""Train a small network on the CPU, unchanged under `eventide run examples/train.py`; needs torch."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader


class Blurred:
    """Blurs each image when it is requested, as many input pipelines do."""

    def __len__(self):
        return 1920

    def __getitem__(self, index):
        image = np.random.default_rng(index).random((3, 64, 64), np.float32)
        for _ in range(20):
            image = (image + np.roll(image, 1, 1) + np.roll(image, 1, 2)) / 3
        return torch.from_numpy(image), index % 10


torch.set_num_threads(1)
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images, labels in DataLoader(Blurred(), batch_size=32):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
