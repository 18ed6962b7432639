"""Any accelerator of torch, through torch.Stream and torch.Event. Imports torch."""

from eventide.backends.torch._device import Torch, TorchStreams

__all__ = ["Torch", "TorchStreams"]
