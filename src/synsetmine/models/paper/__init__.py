"""The paper's model, section by section as published.

Read `network` (q and f), `pairs` (training pairs), `train`, `generate` (Algorithm 1) and `tune`.
"""
