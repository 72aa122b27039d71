"""The laboratory: a robot-command language that asks trained models whether they remember."""
