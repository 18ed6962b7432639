"""The schedule of a trace, again and with edits.

replay        the dependency graph and its schedule               _replay, _dependencies, _inferred_edges, _schedule
what_if       the same with edits: prediction, interval, edited trace   _what_if, _edits, _apply, _draft, _edited_trace
              whether the sanitizer allows an edited order              _order_check, _edited_operations
              costs of launches and queues, and their scatter           _latencies, _launch_queue, _interval
best_edits    the edits that save most, by search                       _best_edits
"""
