"""Questions put to trained models: what changes an answer, and which connection carries it."""

import torch

from .episodes import CUE, MOVEMENTS
from .models import HEADS, attention_weights, causal, logits
from .training import one_thread


def answers(model: str, theta: torch.Tensor, data: torch.Tensor, allow=None) -> torch.Tensor:
    """The token each parameter set predicts at RECALL, (S, N), for episodes (N, d + 5).

    The repeated cue and EOS come after RECALL and are cut off, so they cannot be read.
    """
    with torch.no_grad(), one_thread():
        return torch.cat([logits(model, theta, part[:, :-2], allow)[:, :, -1].argmax(-1) for part in data.split(512)], dim=1)


def turned(data: torch.Tensor, position: int, by: int) -> torch.Tensor:
    """The same episodes with the movement at one input position replaced by the one `by` places further on.

    position: 1 is the cue, 2 to d + 1 the movements after it.  by: 1, 2 or 3.
    Raises ValueError for a position without a movement or a step that changes nothing.
    """
    if not CUE <= position <= data.shape[1] - 4:
        raise ValueError(f"position: wanted a movement, 1 to {data.shape[1] - 4}, got {position}")
    if by % len(MOVEMENTS) == 0:
        raise ValueError(f"by: wanted a step that changes the movement, got {by}")
    other = data.clone()
    other[:, position] = (data[:, position] + by) % len(MOVEMENTS)
    return other


def cut_edges(T: int, edges, heads=range(HEADS)) -> torch.Tensor:
    """The causal mask without some (query, source) pairs in some heads, (heads, T, T).

    Raises ValueError for a query that would have no source left.
    """
    allow = causal(T).repeat(HEADS, 1, 1)
    for query, source in edges:
        allow[list(heads), query, source] = False
    if not allow.any(-1).all():
        raise ValueError(f"edges: wanted at least one source for each query, got none left after {list(edges)}")
    return allow


def recall_attention(theta: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    """How the row of RECALL spreads its attention, averaged over the episodes, (S, heads, d + 3)."""
    with torch.no_grad(), one_thread():
        return attention_weights(theta, data[:, :-2])[:, :, :, -1].mean(dim=1)
