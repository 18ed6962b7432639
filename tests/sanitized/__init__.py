"""Programs as people write them; each with its bug left out or planted. test_sanitized_programs.py runs them."""
