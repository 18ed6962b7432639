"""Tracks, categories and edges of events by other tools: Kineto's files, JAX's profiles, recordings of torch.

_event_names names of single events         _categories  categories of columns
_tracks      thread, stream or process       _edges       launches, waits and synchronizations by id
_columns     columns as arrays
"""

from eventide.trace.linking._event_names import ALL_STREAMS, RUNTIMES, STEP, category_of, is_device

__all__ = ["ALL_STREAMS", "RUNTIMES", "STEP", "category_of", "is_device"]
