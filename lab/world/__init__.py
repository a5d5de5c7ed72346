"""One seeded world: all processes of an installation under one clock and one scheduler (I1…)."""
