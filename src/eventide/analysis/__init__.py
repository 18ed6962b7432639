"""Trace in, frozen results out; pure, and no device needed."""
