"""Any accelerator of torch, through torch.Stream and torch.Event. The modules in here import torch."""
