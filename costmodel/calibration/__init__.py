"""How the shipped rates were fitted, and how far they can be trusted.

``python -m costmodel.calibration FOLDER`` reads published kernel and whole-step measurements from FOLDER, fits the
rates, and prints their errors on held-out shapes and held-out GPUs beside the bars they must meet; with ``--write`` it
writes ``catalog/calibration.csv`` and ``catalog/accuracy.csv``. Those fitted figures ship; the measurements do not.
"""
