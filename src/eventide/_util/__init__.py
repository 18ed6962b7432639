"""Small mechanisms that every package may use: frames of our own, and what happens when a module is imported."""
