"""Which memory work touches, and which host thread may touch it.

_access      objects to addresses          _layout      views to byte ranges
_host        what the host touches         _lifetimes   when memory is allocated and freed
_handover    order between host threads    _locks       locks that hand over
"""
