"""An attack on falsezero: hostile tables, broken files, forged models, kills, full disks.

Every campaign is a function of a seed and a folder that raises `AssertionError` when something was
lost, let in or answered wrongly. ``make attack`` runs many seeds of each, in processes of their
own, so that a crash or a hang of one is counted and does not end the rest; `test_attack.py` runs a
few seeds of each with the other tests.
"""
