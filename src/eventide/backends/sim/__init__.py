"""The simulated device: virtual time, any number of devices, declared durations."""

from eventide.backends.sim._device import Sim, configure_sim, the_sim

__all__ = ["Sim", "configure_sim", "the_sim"]
