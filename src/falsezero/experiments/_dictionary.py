"""The words of the newsgroup messages that the papers print."""

from __future__ import annotations

__all__ = ["WORDS"]

_PRINTED = """
accept access agre algorithm atho bibl biblic bless chip christ christian church clh clinic
clipper comput cost cryptographi decrypt den devic diagnos diet diseas doctor doctrin effect
encrypt enforc escrow faith flight food geneva god govern henri holi infect jesu kei launch love
lunar man med medic medicin mission moon nasa nsa orbit pain passag pat patient peopl pgp
physician privati public religion rutger satellit scheme scriptur secret secur shuttl sin solar
space spacecraft speak spencer spirit sternlight symptom syndrom system tap teach toronto
treatment trust truth vehicl word zoo
"""

WORDS = tuple(_PRINTED.split())
"""The 90 stems in Tables 1-3 and 5 of Bingham et al. and Tables 2 and 3 of Kabán and Bingham.

The papers used a dictionary of 100 words, chosen by the Bow toolkit, and print no list of it.
"""
