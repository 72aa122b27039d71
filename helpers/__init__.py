"""The shared module of the book: the worked example, the calculations, and their display."""

from .answers import check
from .attention import Head, HeadMaps, MultiHead, attend, causal_mask, multi_head, one_head, softmax
from .drawing import Drawing, draw_heatmap, heatmap
from .encoder import (Block, BlockWeights, LayerNorm, MLP, MLPWeights, NormWeights, Stack, block, layer_norm, mlp,
                      stack)
from .equations import Equation, explain, vector
from .example import PROVERB, Example
from .numbers import number
from .positions import frequencies, sinusoidal_positions
from .tables import Table, table

__all__ = [name for name in dir() if not name.startswith("_")]
