"""The verdict of a stream program that is given as data.

_program  the program, checked    _queues  its queues    _walk  its steps, given to the engine    _check  the verdict
"""
