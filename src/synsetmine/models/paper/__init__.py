"""The paper's model, section by section as published.

Read `network` (q, f and Algorithm 1), `pairs` (training pairs), `train` and `tune`.
"""
