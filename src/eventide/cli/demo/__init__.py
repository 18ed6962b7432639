"""`eventide demo`: a small training program, measured, recorded and checked.

_measure    runs it                           _text      shows the result
_calibrate  makes load and train of one size  _timeline  one traced run, drawn
_program    finds examples/prefetch.py        _record    one run, recorded
_check      one run under the sanitizer
"""
