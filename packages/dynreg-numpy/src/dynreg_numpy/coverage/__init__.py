"""How much of torch the numpy backend computes, measured over torch's OpInfo database.

``dynreg numpy coverage`` runs it; :func:`measure` is the same as a function. The oracle is torch
itself: each sample runs in eager mode and compiled, and the results are compared.
"""

from dynreg_numpy.coverage._results import MODES, OUTCOMES, Entry, Result
from dynreg_numpy.coverage._workers import measure

__all__ = ["MODES", "OUTCOMES", "Entry", "Result", "measure"]
