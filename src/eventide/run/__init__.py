"""`eventide run` and `eventide check`: a program in an interpreter of its own, recorded or checked from its first line.

_launch      starts the program, waits for it, forwards signals      in the process of the command
_site        the sitecustomize that is loaded before the program     in the program's process
_autostart   the recording that it starts there                      in the program's process
"""
