"""Three recipes of nearly equal size, each written twice.

`build` makes a PyTorch module from stock layers: it owns the initialization and the parameter count.
`logits` computes the same function for S parameter sets at once, from one matrix `theta` with a flat
parameter set in each row, so that several initializations train together.
"""

import math
from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

POSITIONS = 36  # inputs of the longest episode: delay 32, plus BOS, cue, RECALL and the repeated cue
HEADS = 2


class Recurrent(nn.Module):
    """Embedding, one recurrent layer, vocabulary head."""

    def __init__(self, layer, width, vocabulary=7, features=16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, features)
        self.memory = layer(features, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):                                        # (B, T)
        return self.head(self.memory(self.embedding(tokens))[0])      # (B, T, 7)


class Transformer(nn.Module):
    """Embedding plus learned positions, one causal pre-norm block, final LayerNorm, vocabulary head."""

    def __init__(self, spread=0.02, projections="attention", vocabulary=7, D=12, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, D)
        self.positions = nn.Parameter(spread * torch.randn(POSITIONS, D))
        self.norm_1, self.norm_2, self.norm_final = (nn.LayerNorm(D) for _ in range(3))
        self.attention = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(D, hidden), nn.ReLU(), nn.Linear(hidden, D))
        self.head = nn.Linear(D, vocabulary)
        if projections == "linear":  # as an nn.Linear from D to 3 D would start
            linear = nn.Linear(D, 3 * D)
            self.attention.in_proj_weight.data, self.attention.in_proj_bias.data = linear.weight.data, linear.bias.data

    def forward(self, tokens):                                        # (B, T)
        T = tokens.shape[1]
        H = self.embedding(tokens) + self.positions[:T]               # (B, T, D)
        X, hide = self.norm_1(H), torch.ones(T, T, dtype=torch.bool).triu(1)  # this module wants True where hidden
        U = H + self.attention(X, X, X, attn_mask=hide, need_weights=False)[0]
        return self.head(self.norm_final(U + self.mlp(self.norm_2(U))))


MODELS = {
    "RNN": lambda **_: Recurrent(nn.RNN, 32),
    "GRU": lambda **_: Recurrent(nn.GRU, 17),
    "Transformer": Transformer,
}


def seeded(make, seed: int) -> nn.Module:
    """What `make()` builds when the random numbers start from `seed`; those of the caller go on undisturbed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def build(model: str, seed: int, **start) -> nn.Module:
    """A freshly initialized module; `start` goes to the Transformer's initialization.

    The same seed gives the same parameters.  Raises ValueError for an unknown model.
    """
    if model not in MODELS:
        raise ValueError(f"model: wanted one of {', '.join(MODELS)}, got {model!r}")
    return seeded(lambda: MODELS[model](**start), seed)


def flat(module: nn.Module) -> torch.Tensor:
    """All parameters of a module in one row, in the order of `named_parameters`, (P,)."""
    return torch.cat([p.detach().reshape(-1) for p in module.parameters()])


def cut(theta: torch.Tensor, shapes: dict) -> dict[str, torch.Tensor]:
    """The rows of theta (S, P) cut into named parameters, each with a leading axis of S; views, not copies."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    if theta.ndim != 2 or theta.shape[1] != sum(sizes):
        raise ValueError(f"theta: wanted S x {sum(sizes)} parameters, got {' x '.join(map(str, theta.shape))}")
    return {name: part.view(len(theta), *shape) for (name, shape), part in zip(shapes.items(), theta.split(sizes, dim=1))}


@cache
def shapes(make) -> dict:
    """The shape of each parameter of the module that `make()` builds, by name."""
    return {name: tuple(p.shape) for name, p in seeded(make, 0).named_parameters()}


def named(model: str, theta: torch.Tensor) -> dict[str, torch.Tensor]:
    """The parameters of S models of one kind."""
    return cut(theta, shapes(MODELS[model]))


def linear(X, W, b):
    """One affine map per parameter set: X (S, ..., in), W (S, out, in), b (S, out)."""
    rows = X.reshape(len(X), -1, X.shape[-1])
    return torch.baddbmm(b[:, None], rows, W.mT).view(*X.shape[:-1], -1)


def layer_norm(X, gamma, beta):
    """LayerNorm per parameter set: X (S, B, T, D), gamma and beta (S, D)."""
    return torch.addcmul(beta[:, None, None], F.layer_norm(X, X.shape[-1:]), gamma[:, None, None])


def recurrence(inputs, W, b, kind, h=None):
    """The states of one recurrent layer, (S, B, T, width), from zero states unless given.

    inputs: (S, T, B, width) for an RNN and three times as wide for a GRU, already mapped by the input weights.
    W: (S, width or 3 width, width).  b: one row for each of W.  h: (S, B, width).
    The gates stand in PyTorch's order: reset, update, candidate.
    """
    W, b, states = W.mT, b[:, None], []
    h = inputs.new_zeros(len(W), inputs.shape[2], W.shape[1]) if h is None else h
    for x in (inputs + b[:, None] if kind == "RNN" else inputs).unbind(1):
        if kind == "RNN":
            h = torch.baddbmm(x, h, W).tanh()
        else:
            (x_r, x_z, x_n), (s_r, s_z, s_n) = x.chunk(3, -1), torch.baddbmm(b, h, W).chunk(3, -1)
            n = torch.addcmul(x_n, torch.sigmoid(x_r + s_r), s_n).tanh()
            h = torch.lerp(n, h, torch.sigmoid(x_z + s_z))             # (1 - z) n + z h
        states.append(h)
    return torch.stack(states, dim=2)


def recurrent_states(p, tokens, kind):
    """The state after each token, (S, B, T, width)."""
    table = linear(p["embedding.weight"], p["memory.weight_ih_l0"], p["memory.bias_ih_l0"])  # (S, 7, width or 3 width)
    return recurrence(table[:, tokens.T], p["memory.weight_hh_l0"], p["memory.bias_hh_l0"], kind)


def query_key_value(p, X):
    """Queries, keys and values of both heads, each (S, B, heads, T, d_k)."""
    S, B, T, D = X.shape
    QKV = linear(X, p["attention.in_proj_weight"], p["attention.in_proj_bias"])
    return QKV.view(S, B, T, 3, HEADS, D // HEADS).permute(3, 0, 1, 4, 2, 5)


def normalized_input(p, tokens):
    """Embedding plus position, and the same rows after the first LayerNorm, (S, B, T, D)."""
    T = tokens.shape[1]
    if T > POSITIONS:
        raise ValueError(f"tokens: wanted at most {POSITIONS} inputs, one for each learned position, got {T} (delay {T - 4})")
    H = p["embedding.weight"][:, tokens] + p["positions"][:, None, :T]
    return H, layer_norm(H, p["norm_1.weight"], p["norm_1.bias"])


def causal(T: int) -> torch.Tensor:
    """`allow` for rows that read themselves and everything before, (T, T)."""
    return torch.ones(T, T, dtype=torch.bool).tril()


def attention_weights(theta: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The Transformer's causal attention weights, (S, B, heads, T, T); each row sums to one."""
    p = named("Transformer", theta)
    Q, K, _ = query_key_value(p, normalized_input(p, tokens)[1])
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return scores.masked_fill(~causal(tokens.shape[1]), -math.inf).softmax(dim=-1)


def transformer_states(p, tokens, allow=None):
    """The rows after the final LayerNorm, (S, B, T, D).

    allow: Boolean, (T, T) or (heads, T, T), True where a query may read a source; the causal mask unless given.
    """
    H, X = normalized_input(p, tokens)
    Q, K, V = query_key_value(p, X)
    allow = causal(tokens.shape[1]) if allow is None else allow
    mixed = F.scaled_dot_product_attention(*(a.flatten(0, 1) for a in (Q, K, V)), attn_mask=allow)
    joined = mixed.transpose(1, 2).reshape(H.shape)
    U = H + linear(joined, p["attention.out_proj.weight"], p["attention.out_proj.bias"])
    J = linear(layer_norm(U, p["norm_2.weight"], p["norm_2.bias"]), p["mlp.0.weight"], p["mlp.0.bias"]).relu()
    H = U + linear(J, p["mlp.2.weight"], p["mlp.2.bias"])
    return layer_norm(H, p["norm_final.weight"], p["norm_final.bias"])


def logits(model: str, theta: torch.Tensor, tokens: torch.Tensor, allow=None) -> torch.Tensor:
    """Scores over the vocabulary after each token, for each parameter set: (S, B, T, 7).

    theta: (S, P).  tokens: (B, T) ids.  Row s equals the stock module with parameters theta[s].
    Raises ValueError for a theta of another model or more tokens than the Transformer has positions.
    """
    p = named(model, theta)
    states = transformer_states(p, tokens, allow) if model == "Transformer" else recurrent_states(p, tokens, model)
    return linear(states, p["head.weight"], p["head.bias"])
