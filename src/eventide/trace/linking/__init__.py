"""What Kineto's files, JAX's profiles and recordings of torch share: which row belongs to what.

_words       the words of other tools        _categories  their categories, and ours
_tracks      thread, stream or process       _edges       launches, waits and synchronizations by id
_columns     columns as arrays
"""

from eventide.trace.linking._words import ALL_STREAMS, RUNTIMES, STEP, category_of, is_device

__all__ = ["ALL_STREAMS", "RUNTIMES", "STEP", "category_of", "is_device"]
