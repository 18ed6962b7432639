"""Findings as text, JSON and SARIF.

_words    names and sentences    _text    for people    _json, _sarif    for other programs
"""
