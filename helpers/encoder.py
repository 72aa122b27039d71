"""The encoder around attention: LayerNorm, the position-wise MLP, residual sums, blocks and stacks.

Conventions as in `attention.py`.  Sources: Vaswani et al. (2017), 3.1 and 3.3; Ba et al. (2016) for LayerNorm.
"""

from typing import NamedTuple

import numpy as np

from .attention import HeadMaps, MultiHead, multi_head
from .checks import matrix


class NormWeights(NamedTuple):
    """Scale and shift of one LayerNorm."""
    gamma: np.ndarray  # (D,)
    beta: np.ndarray   # (D,)
    eps: float = 1e-5  # added to the variance, so a constant row does not divide by zero


class MLPWeights(NamedTuple):
    """The two affine maps of the position-wise MLP."""
    W_1: np.ndarray  # (F, D)
    b_1: np.ndarray  # (F,)
    W_2: np.ndarray  # (D, F)
    b_2: np.ndarray  # (D,)


class BlockWeights(NamedTuple):
    """Everything one encoder block learns."""
    norm_1: NormWeights
    heads: tuple[HeadMaps, ...]
    W_O: np.ndarray  # (D, sum of d_v)
    norm_2: NormWeights
    mlp: MLPWeights


class LayerNorm(NamedTuple):
    """Every step of one normalization."""
    inputs: np.ndarray    # (T, D)
    mean: np.ndarray      # (T,)
    variance: np.ndarray  # (T,)  population variance: divided by D
    norm: NormWeights
    output: np.ndarray    # (T, D)


class MLP(NamedTuple):
    """Every step of the position-wise MLP."""
    inputs: np.ndarray          # (T, D)
    preactivations: np.ndarray  # (T, F)
    hidden: np.ndarray          # (T, F)  after ReLU
    output: np.ndarray          # (T, D)
    weights: MLPWeights


class Block(NamedTuple):
    """Every stage of one block, pre-norm or post-norm."""
    placement: str        # "pre" or "post"
    inputs: np.ndarray    # (T, D)
    norm_1: LayerNorm
    attention: MultiHead
    sum_1: np.ndarray     # (T, D)  inputs plus the attention branch
    norm_2: LayerNorm
    mlp: MLP
    sum_2: np.ndarray     # (T, D)  second residual sum
    output: np.ndarray    # (T, D)


class Stack(NamedTuple):
    """Blocks in order and the normalization after the last one."""
    blocks: tuple[Block, ...]
    final: LayerNorm | None
    output: np.ndarray  # (T, D)


def layer_norm(H, norm: NormWeights) -> LayerNorm:
    """Centre and scale each row by its own mean and population variance.

    H: (T, D).  With unit scale and no shift each row has mean 0 and variance v / (v + eps).
    Raises ValueError for a gamma or beta that does not fit, or an eps that is not positive.
    """
    H = matrix("H", H)
    gamma = matrix("gamma", norm.gamma, H.shape[1:])
    beta = matrix("beta", norm.beta, H.shape[1:])
    if not norm.eps > 0:
        raise ValueError(f"eps: wanted a positive number, got {norm.eps!r}")
    mean = H.mean(axis=1)                                      # (T,)
    variance = ((H - mean[:, None]) ** 2).mean(axis=1)         # (T,)
    scaled = (H - mean[:, None]) / np.sqrt(variance + norm.eps)[:, None]
    return LayerNorm(H, mean, variance, NormWeights(gamma, beta, norm.eps), gamma * scaled + beta)


def mlp(R, weights: MLPWeights) -> MLP:
    """Two affine maps with a ReLU between them, the same at every position.

    R: (T, D).  Changing one row of R changes that row of the output and no other.
    Raises ValueError when the maps do not fit the rows or each other.
    """
    D = (R := matrix("R", R)).shape[1]
    W_1 = matrix("W_1", weights.W_1, (None, D))                # (F, D)
    F = len(W_1)
    b_1 = matrix("b_1", weights.b_1, (F,))
    W_2 = matrix("W_2", weights.W_2, (D, F))                   # (D, F)
    b_2 = matrix("b_2", weights.b_2, (D,))
    Z = R @ W_1.T + b_1                                        # (T, F)
    J = np.maximum(Z, 0)                                       # (T, F)
    return MLP(R, Z, J, J @ W_2.T + b_2, MLPWeights(W_1, b_1, W_2, b_2))


def block(H, weights: BlockWeights, allow=None, placement: str = "pre") -> Block:
    """One encoder block: two residual updates, attention then MLP.

    H: (T, D).  allow: as in `attend`.  placement: "pre" normalizes what a branch reads (Xiong et al., 2020),
    "post" each sum (Vaswani et al., 2017).  A pre-norm block whose branches return zero is the identity.
    Raises ValueError for an unknown placement or weights that do not fit the rows.
    """
    H = matrix("H", H)
    matrix("W_O", weights.W_O, (H.shape[1], None))
    if placement == "pre":
        norm_1 = layer_norm(H, weights.norm_1)
        attention = multi_head(norm_1.output, weights.heads, weights.W_O, allow)
        sum_1 = H + attention.projection
        norm_2 = layer_norm(sum_1, weights.norm_2)
        branch = mlp(norm_2.output, weights.mlp)
        sum_2 = sum_1 + branch.output
        output = sum_2
    elif placement == "post":
        attention = multi_head(H, weights.heads, weights.W_O, allow)
        sum_1 = H + attention.projection
        norm_1 = layer_norm(sum_1, weights.norm_1)
        branch = mlp(norm_1.output, weights.mlp)
        sum_2 = norm_1.output + branch.output
        norm_2 = layer_norm(sum_2, weights.norm_2)
        output = norm_2.output
    else:
        raise ValueError(f'placement: wanted "pre" or "post", got {placement!r}')
    return Block(placement, H, norm_1, attention, sum_1, norm_2, branch, sum_2, output)


def stack(H, blocks, final: NormWeights | None = None, allow=None, placement: str = "pre") -> Stack:
    """Blocks one after another, then a LayerNorm that belongs to the stack.

    H: (T, D).  blocks: BlockWeights in order.  final: None leaves the last block's rows as they are.
    Raises ValueError for an empty stack or a block whose width differs from the rows'.
    """
    if not blocks:
        raise ValueError("blocks: wanted at least one block, got none")
    steps, D = [], matrix("H", H).shape[1]
    for i, weights in enumerate(blocks):
        matrix(f"W_O of blocks[{i}]", weights.W_O, (D, None))
        steps.append(block(steps[-1].output if steps else H, weights, allow, placement))
    last = steps[-1] if final is None else layer_norm(steps[-1].output, final)
    return Stack(tuple(steps), None if final is None else last, last.output)
