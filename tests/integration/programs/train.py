"""A program that does not use Eventide: torch.compile, a DataLoader with a worker process and an optimizer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, 50)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)))


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    tokens = torch.randint(50, (24, 12))
    loader = DataLoader(TensorDataset(tokens), batch_size=8, num_workers=1)
    net = Net()
    compiled = torch.compile(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for epoch in range(2):
        for (batch,) in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(compiled(batch).flatten(0, 1), batch.flatten())
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
