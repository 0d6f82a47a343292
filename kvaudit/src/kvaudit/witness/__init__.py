"""The witness: an independent decoder whose every rule can be changed, and the known bugs as changed rules.

Below the verdict, which measures its tolerance with it, and the explanation, which names bugs with it.
"""

from .attention import attend, band
from .hypotheses import Hypothesis, catalogue
from .replays import Replays, replays
from .witness import Witness

__all__ = ["Hypothesis", "Replays", "Witness", "attend", "band", "catalogue", "replays"]
