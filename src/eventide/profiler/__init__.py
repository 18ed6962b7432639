"""Listeners that make a trace of what a program does.

_autostart   the recording that `eventide run` starts inside the program      _site   what starts it there
"""
