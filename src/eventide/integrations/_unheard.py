"""The one line about a framework that cannot be heard: what it lacks, which version was tried, what to do."""

from __future__ import annotations

import sys

from eventide.errors import UsageError

# What each adapter was tried with; docs/integrations.md has the same.
TRIED = {"torch": "2.13.0", "jax": "0.10.2", "numba": "0.68.1", "triton": "3.9.0", "pyopencl": "2026.1.4"}
LACKS = (ImportError, AttributeError, KeyError, TypeError)
"""What is raised where a framework has not the names that an adapter uses, or means something else by them."""
_PACKAGES = {"pyopencl": "'pyopencl[pocl]'"}


def unheard(framework: str, error: Exception) -> UsageError:
    """What to raise where installing an adapter failed with one of LACKS."""
    package = _PACKAGES.get(framework, framework)
    if isinstance(error, ModuleNotFoundError) and error.name == framework:
        return UsageError(f"Eventide cannot hear {framework}: it is not installed; pip install {package}")
    why = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
    return UsageError(
        f"Eventide cannot hear {framework} {version_of(framework)}: {why}; the adapter was tried with "
        f"{TRIED[framework]}: pip install --upgrade {package}"
    )


def version_of(framework: str) -> str:
    """The version that an imported framework gives itself."""
    return str(getattr(sys.modules.get(framework), "__version__", "of unknown version"))
