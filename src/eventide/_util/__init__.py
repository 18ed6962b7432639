"""Small mechanisms that every package may use.

process           callbacks after fork and at exit        device_names       parse "cpu:0"
subscription      the handle of a registration            internal_frames    which stack frames to hide
on_import         a callback when a module is imported    public_names       modules of names, imports on first use
format            numbers and names as text               html_text          text and data in HTML
virtual_clock     the counter of the clock of `sim`
"""
