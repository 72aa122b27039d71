"""Every formula of the formula sheet, beside the code that says the same, run against torch or a closed form.

`formula(label, says)` holds the sheet's words and mathematics next to their transcription, and
`test_sheet_and_tests_agree` finds a formula that was changed on the page and not here, or the other way round.
"""

import itertools
import math
import re

import numpy as np
import torch
from conftest import ROOT
from torch.nn import functional

import helpers
from helpers import (PROVERB, BlockWeights, HeadMaps, MLPWeights, NormWeights, attend, block, causal_mask, frequencies,
                     layer_norm, mlp, multi_head, one_head, sinusoidal_positions, softmax, stack)

SHEET = (ROOT / "book" / "formulas.md").read_text(encoding="utf-8")
ROWS = {label: (says, code) for label, code, says in
        re.findall(r"^\* - \*\*([A-Z]\d+)\*\* [^\n]+\n    (.+)\n  - (.+)$", SHEET, re.M)}
SAYS = {}
RNG = np.random.default_rng(20)
tensor = lambda x: torch.tensor(np.asarray(x), dtype=torch.float64)
normal = lambda *shape: RNG.normal(size=shape)
sigmoid = lambda x: 1 / (1 + np.exp(-x))
relu = lambda x: np.maximum(x, 0)


def formula(label, says):
    """The sheet's formula, held beside the test that transcribes it."""
    SAYS[label] = says
    return lambda test: test


def test_sheet_and_tests_agree():
    assert ROWS, "no formula found on the sheet"
    assert {label: says for label, (says, _) in ROWS.items()} == SAYS
    for label, (_, code) in ROWS.items():
        assert f"`test_{label}`" in code and f"test_{label}" in globals(), label


def test_named_helpers_exist():
    codes = [name for _, code in ROWS.values() for name in re.findall(r"(?<![}\w])`(\w+)`", code)]
    named = {name for name in codes if not name.startswith("test_")}
    assert named and named <= set(helpers.__all__), named - set(helpers.__all__)


# Part I: recurrent memory

w_x, w_h, w_o, x, y = 0.7, -1.1, 1.3, (0.4, -0.9, 1.6, 0.2), 0.25


def scalar_run():
    """R1 and R2 as they stand, for every step."""
    z, h, previous = [], [], 0.0
    for x_t in x:
        z.append(w_x * x_t + w_h * previous)
        h.append(math.tanh(z[-1]))
        previous = h[-1]
    return z, h, w_o * h[-1]


def scalar_sensitivities():
    """R3 as it stands."""
    z, h, prediction = scalar_run()
    e, g_h, g_z = prediction - y, [0.0] * len(x), [0.0] * len(x)
    for t in reversed(range(len(x))):
        g_h[t] = e * w_o if t == len(x) - 1 else g_z[t + 1] * w_h
        g_z[t] = g_h[t] * (1 - math.tanh(z[t]) ** 2)
    return e, g_h, g_z


def scalar_torch():
    """The same model with autograd: weights, states with their gradients, loss."""
    weights = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in (w_x, w_h, w_o)]
    z, h = [], [torch.zeros((), dtype=torch.float64)]
    for x_t in x:
        z.append(weights[0] * x_t + weights[1] * h[-1])
        h.append(torch.tanh(z[-1]))
    for node in (*z, *h[1:]):
        node.retain_grad()
    loss = (weights[2] * h[-1] - y) ** 2 / 2
    loss.backward()
    return weights, z, h[1:], loss


@formula("R1", r"$z_t = w_x x_t + w_h h_{t-1},\enspace$ $h_t = \phi(z_t),\enspace$ $h_{-1} = 0$")
def test_R1():
    cell = torch.nn.RNN(1, 1, bias=False, dtype=torch.float64)
    cell.weight_ih_l0.data[:], cell.weight_hh_l0.data[:] = w_x, w_h
    wanted = cell(tensor(x)[:, None])[0][:, 0].detach()
    assert np.allclose(scalar_run()[1], wanted, atol=1e-14)


@formula("R2", r"$\widehat y = w_o h_{T-1},\enspace$ $\mathcal L = \tfrac12 (\widehat y - y)^2$")
def test_R2():
    loss = (scalar_run()[2] - y) ** 2 / 2
    assert math.isclose(loss, scalar_torch()[3].item(), rel_tol=1e-13)


@formula("R3", r"$e = \widehat y - y,\enspace$ $g^h_{T-1} = e\, w_o,\enspace$ $g^z_t = g^h_t\, \phi'(z_t),\enspace$ "
               r"$g^h_{t-1} = g^z_t\, w_h$")
def test_R3():
    _, g_h, g_z = scalar_sensitivities()
    _, z, h, _ = scalar_torch()
    assert np.allclose(g_h, [node.grad for node in h], atol=1e-14)
    assert np.allclose(g_z, [node.grad for node in z], atol=1e-14)


@formula("R4", r"$\frac{\partial\mathcal L}{\partial w_x} = \sum_t g^z_t x_t,\enspace$ "
               r"$\frac{\partial\mathcal L}{\partial w_h} = \sum_t g^z_t h_{t-1},\enspace$ "
               r"$\frac{\partial\mathcal L}{\partial w_o} = e\, h_{T-1}$")
def test_R4():
    e, _, g_z = scalar_sensitivities()
    h = [0.0, *scalar_run()[1]]
    ours = [sum(g * x_t for g, x_t in zip(g_z, x)), sum(g * before for g, before in zip(g_z, h)), e * h[-1]]
    assert np.allclose(ours, [w.grad for w in scalar_torch()[0]], atol=1e-14)


@formula("R5", r"$\frac{\partial h_q}{\partial h_s} = \prod_{t=s+1}^{q} w_h\, \phi'(z_t)$")
def test_R5():
    z, _, _ = scalar_run()
    s, q = 0, 3
    ours = math.prod(w_h * (1 - math.tanh(z[t]) ** 2) for t in range(s + 1, q + 1))
    _, _, h, _ = scalar_torch()
    h_s = h[s].detach().requires_grad_()
    h_q = h_s
    for t in range(s + 1, q + 1):
        h_q = torch.tanh(w_x * x[t] + w_h * h_q)
    assert math.isclose(ours, torch.autograd.grad(h_q, h_s)[0].item(), rel_tol=1e-12)


@formula("R6", r"$\tanh' z = 1 - \tanh^2 z,\enspace$ $\sigma'(z) = \sigma(z)\,(1 - \sigma(z)) \le \tfrac14,\enspace$ "
               r"$\operatorname{ReLU}'(z) = 1$ for $z > 0$ and $0$ for $z < 0$")
def test_R6():
    z = np.linspace(-4, 4, 82)  # an even number, so zero is not among them
    slopes = {torch.tanh: 1 - np.tanh(z) ** 2, torch.sigmoid: sigmoid(z) * (1 - sigmoid(z)), torch.relu: (z > 0) * 1.0}
    for function, slope in slopes.items():
        point = tensor(z).requires_grad_()
        assert np.allclose(slope, torch.autograd.grad(function(point).sum(), point)[0])
    assert slopes[torch.sigmoid].max() <= 0.25 == sigmoid(0) * (1 - sigmoid(0))


@formula("R7", r"$\theta^{\text{new}} = \theta - \eta\, \nabla_{\!\theta}\mathcal L$")
def test_R7():
    theta = tensor(normal(5)).requires_grad_()
    before, optimizer = theta.detach().numpy().copy(), torch.optim.SGD([theta], lr=0.03)
    (theta ** 3).sum().backward()
    optimizer.step()
    assert np.allclose(before - 0.03 * 3 * before ** 2, theta.detach())


D, H, C, T = 3, 5, 2, 4
X, W_x, W_h, W_o = normal(T, D), normal(H, D), normal(H, H) / 2, normal(C, H)
b_h, b_o, Y = normal(H), normal(C), normal(T, C)


def vector_run():
    """R8 as it stands: preactivations, states with h_{-1} in front, predictions at every position."""
    Z, states = [], [np.zeros(H)]
    for x_t in X:
        Z.append(x_t @ W_x.T + states[-1] @ W_h.T + b_h)
        states.append(np.tanh(Z[-1]))
    return np.array(Z), np.array(states), np.array(states[1:]) @ W_o.T + b_o


def vector_torch(last_only):
    """Autograd gradients of W_x, W_h, b_h, W_o, b_o and of the states."""
    weights = [tensor(w).requires_grad_() for w in (W_x, W_h, b_h, W_o, b_o)]
    states = [torch.zeros(H, dtype=torch.float64)]
    for x_t in tensor(X):
        states.append(torch.tanh(x_t @ weights[0].T + states[-1] @ weights[1].T + weights[2]))
        states[-1].retain_grad()
    errors = torch.stack(states[1:]) @ weights[3].T + weights[4] - tensor(Y)
    (errors[-1:] if last_only else errors).square().sum().div(2).backward()
    return [w.grad.numpy() for w in weights], np.array([h.grad.numpy() for h in states[1:]])


def vector_sensitivities(last_only):
    """R9, or R11 when every position has a target."""
    Z, _, predictions = vector_run()
    E, g_h, g_z = predictions - Y, np.zeros((T, H)), np.zeros((T + 1, H))
    for t in reversed(range(T)):
        head = E[t] @ W_o if t == T - 1 or not last_only else 0
        g_h[t] = head + g_z[t + 1] @ W_h
        g_z[t] = g_h[t] * (1 - np.tanh(Z[t]) ** 2)
    return E, g_h, g_z[:T]


@formula("R8", r"$\mathbf z_t = \mathbf x_t\mathbf W_x^\top + \mathbf h_{t-1}\mathbf W_h^\top + \mathbf b_h,\enspace$ "
               r"$\mathbf h_t = \phi(\mathbf z_t),\enspace$ "
               r"$\widehat{\mathbf y} = \mathbf h_{T-1}\mathbf W_o^\top + \mathbf b_o,\enspace$ "
               r"$\mathcal L = \tfrac12 \sum_c (\widehat y_c - y_c)^2$")
def test_R8():
    layer = torch.nn.RNN(D, H, dtype=torch.float64)
    values = (W_x, W_h, b_h, np.zeros(H))
    for parameter, value in zip(layer.parameters(), values):
        parameter.data[:] = tensor(value)
    wanted = layer(tensor(X))[0].detach()
    _, states, predictions = vector_run()
    assert np.allclose(states[1:], wanted, atol=1e-13)
    loss = functional.mse_loss(functional.linear(wanted[-1], tensor(W_o), tensor(b_o)), tensor(Y[-1]), reduction="sum") / 2
    assert math.isclose(((predictions[-1] - Y[-1]) ** 2).sum() / 2, loss.item(), rel_tol=1e-12)


@formula("R9", r"$\mathbf g^h_{T-1} = \mathbf e\,\mathbf W_o,\enspace$ "
               r"$\mathbf g^z_t = \mathbf g^h_t \odot \phi'(\mathbf z_t),\enspace$ "
               r"$\mathbf g^h_{t-1} = \mathbf g^z_t\,\mathbf W_h$")
def test_R9():
    assert np.allclose(vector_sensitivities(last_only=True)[1], vector_torch(last_only=True)[1], atol=1e-13)


@formula("R10", r"$\nabla_{\mathbf W_x}\mathcal L = \sum_t (\mathbf g^z_t)^\top \mathbf x_t,\enspace$ "
                r"$\nabla_{\mathbf W_h}\mathcal L = \sum_t (\mathbf g^z_t)^\top \mathbf h_{t-1},\enspace$ "
                r"$\nabla_{\mathbf b_h}\mathcal L = \sum_t \mathbf g^z_t,\enspace$ "
                r"$\nabla_{\mathbf W_o}\mathcal L = \mathbf e^\top \mathbf h_{T-1},\enspace$ "
                r"$\nabla_{\mathbf b_o}\mathcal L = \mathbf e$")
def test_R10():
    E, _, g_z = vector_sensitivities(last_only=True)
    h = vector_run()[1]
    ours = [sum(np.outer(g, v) for g, v in zip(g_z, X)), sum(np.outer(g, v) for g, v in zip(g_z, h)), g_z.sum(axis=0),
            np.outer(E[-1], h[-1]), E[-1]]
    for mine, wanted in zip(ours, vector_torch(last_only=True)[0]):
        assert np.allclose(mine, wanted, atol=1e-12)


@formula("R11", r"$\mathbf g^h_t = \mathbf e_t\,\mathbf W_o + \mathbf g^z_{t+1}\,\mathbf W_h,\enspace$ "
                r"$\mathbf g^z_T = \mathbf 0,\enspace$ "
                r"$\nabla_{\mathbf W_o}\mathcal L = \sum_t \mathbf e_t^\top \mathbf h_t$")
def test_R11():
    E, g_h, _ = vector_sensitivities(last_only=False)
    gradients, wanted = vector_torch(last_only=False)
    assert np.allclose(g_h, wanted, atol=1e-12)
    assert np.allclose(sum(np.outer(e, h) for e, h in zip(E, vector_run()[1][1:])), gradients[3], atol=1e-12)


@formula("R12", r"$\mathbf J_t = \operatorname{diag}(\phi'(\mathbf z_t))\,\mathbf W_h,\enspace$ "
                r"$\mathbf g^h_s = \mathbf g^h_q\,\mathbf J_q \cdots \mathbf J_{s+1},\enspace$ "
                r"$\lVert\mathbf g^h_s\rVert_2 \le \lVert\mathbf g^h_q\rVert_2 \prod_{t=s+1}^{q} \lVert\mathbf "
                r"J_t\rVert_2$")
def test_R12():
    Z, states, _ = vector_run()
    J = [np.diag(1 - np.tanh(z) ** 2) @ W_h for z in Z]
    step = lambda h: torch.tanh(tensor(X[1]) @ tensor(W_x).T + h @ tensor(W_h).T + tensor(b_h))
    assert np.allclose(J[1], torch.autograd.functional.jacobian(step, tensor(states[1])), atol=1e-13)
    g_h = vector_sensitivities(last_only=True)[1]
    assert np.allclose(g_h[0], g_h[3] @ J[3] @ J[2] @ J[1], atol=1e-13)
    norms = [np.linalg.norm(j, 2) for j in J[1:]]
    assert np.linalg.norm(g_h[0]) <= np.linalg.norm(g_h[3]) * math.prod(norms)


@formula("R13", r"$\mathbf g_{\text{clip}} = \mathbf g$ if $\lVert\mathbf g\rVert_2 \le \tau$, else $\tau\,\mathbf g / "
                r"\lVert\mathbf g\rVert_2$")
def test_R13():
    for scale in (0.1, 10.0, 0.0):
        g, tau = scale * normal(7), 1.0
        ours = g if np.linalg.norm(g) <= tau else tau * g / np.linalg.norm(g)
        parameter = torch.nn.Parameter(tensor(np.zeros(7)))
        parameter.grad = tensor(g)
        torch.nn.utils.clip_grad_norm_([parameter], tau)  # torch adds 1e-6 to the length
        assert np.allclose(ours, parameter.grad, atol=1e-6)


@formula("R14", r"$\mathbf a_t = \sigma(\mathbf x_t\mathbf W_{xa}^\top + \mathbf b_{xa} + \mathbf h_{t-1}\mathbf "
                r"W_{ha}^\top + \mathbf b_{ha})$ for $a \in \{u, r\},\enspace$ "
                r"$\widetilde{\mathbf h}_t = \tanh(\mathbf x_t\mathbf W_{xn}^\top + \mathbf b_{xn} + \mathbf r_t \odot "
                r"(\mathbf h_{t-1}\mathbf W_{hn}^\top + \mathbf b_{hn})),\enspace$ "
                r"$\mathbf h_t = \mathbf u_t \odot \mathbf h_{t-1} + (\mathbf 1 - \mathbf u_t) \odot "
                r"\widetilde{\mathbf h}_t$")
def test_R14():
    cell = torch.nn.GRUCell(D, H, dtype=torch.float64)
    W_i, W_r, b_i, b_r = (np.split(p.detach().numpy(), 3) for p in cell.parameters())  # reset, update, candidate
    x_t, h = normal(D), normal(H)
    r, u = (sigmoid(x_t @ W_i[k].T + b_i[k] + h @ W_r[k].T + b_r[k]) for k in (0, 1))
    candidate = np.tanh(x_t @ W_i[2].T + b_i[2] + r * (h @ W_r[2].T + b_r[2]))
    assert np.allclose(u * h + (1 - u) * candidate, cell(tensor(x_t), tensor(h)).detach(), atol=1e-14)


@formula("R15", r"$\mathbf a_t = \sigma(\mathbf x_t\mathbf W_{xa}^\top + \mathbf h_{t-1}\mathbf W_{ha}^\top + \mathbf "
                r"b_a)$ for $a \in \{f, i, o\},\enspace$ "
                r"$\widetilde{\mathbf c}_t = \tanh(\mathbf x_t\mathbf W_{xc}^\top + \mathbf h_{t-1}\mathbf W_{hc}^\top "
                r"+ \mathbf b_c),\enspace$ "
                r"$\mathbf c_t = \mathbf f_t \odot \mathbf c_{t-1} + \mathbf i_t \odot \widetilde{\mathbf "
                r"c}_t,\enspace$ $\mathbf h_t = \mathbf o_t \odot \tanh(\mathbf c_t)$")
def test_R15():
    cell = torch.nn.LSTMCell(D, H, dtype=torch.float64)
    W_i, W_r, b_i, b_r = (np.split(p.detach().numpy(), 4) for p in cell.parameters())  # input, forget, candidate, output
    x_t, h, c = normal(D), normal(H), normal(H)
    i, f, g, o = (x_t @ W_i[k].T + h @ W_r[k].T + b_i[k] + b_r[k] for k in range(4))
    new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h_torch, c_torch = cell(tensor(x_t), (tensor(h), tensor(c)))
    assert np.allclose(new, c_torch.detach(), atol=1e-14)
    assert np.allclose(sigmoid(o) * np.tanh(new), h_torch.detach(), atol=1e-14)


@formula("R16", r"$n_{\text{gates}}\, H\,(D + H + 2)$ with $n_{\text{gates}} = 1, 3, 4$ for RNN, GRU, LSTM")
def test_R16():
    for gates, kind in ((1, torch.nn.RNN), (3, torch.nn.GRU), (4, torch.nn.LSTM)):
        assert gates * H * (D + H + 2) == sum(p.numel() for p in kind(D, H).parameters())


# Part II: attention

rows, maps = normal(7, 5), HeadMaps(normal(3, 5), normal(3, 5), normal(2, 5))


@formula("A1", r"$\mathbf e_t = \mathbf E_{\text{vocab}}[k_t, :]$")
def test_A1():
    wanted = functional.embedding(torch.tensor(PROVERB.ids), tensor(PROVERB.embedding))
    assert np.array_equal(PROVERB.embedding[PROVERB.ids], wanted) and np.array_equal(PROVERB.embedded, wanted)


@formula("A2", r"$\omega_j = 10000^{-2\lfloor j/2\rfloor/D},\enspace$ "
               r"$P_{t,j} = \sin(t\,\omega_j)$ for even $j,\enspace$ $\cos(t\,\omega_j)$ for odd $j$")
def test_A2():
    for width in (5, 6):
        omega = [10000 ** (-2 * (j // 2) / width) for j in range(width)]
        wanted = [[math.cos(t * w) if j % 2 else math.sin(t * w) for j, w in enumerate(omega)] for t in range(9)]
        assert np.allclose(sinusoidal_positions(9, width), wanted, atol=1e-14)


@formula("A3", r"$(\sin(t+\Delta)\omega,\ \cos(t+\Delta)\omega) =$ "
               r"$(\sin t\omega,\ \cos t\omega) \begin{bmatrix} \cos\Delta\omega & -\sin\Delta\omega \\ "
               r"\sin\Delta\omega & \cos\Delta\omega \end{bmatrix}$")
def test_A3():
    P, omega, shift = sinusoidal_positions(12, 6), frequencies(6), 3
    for pair in (0, 2, 4):
        c, s = math.cos(shift * omega[pair]), math.sin(shift * omega[pair])
        turned = P[:-shift, pair:pair + 2] @ np.array([[c, -s], [s, c]])
        assert np.allclose(turned, P[shift:, pair:pair + 2], atol=1e-13)


@formula("A4", r"$\mathbf H^{(0)} = \mathbf E_{\text{seq}} + \mathbf P$")
def test_A4():
    wanted = functional.embedding(torch.tensor(PROVERB.ids), tensor(PROVERB.embedding)) + tensor(sinusoidal_positions(7, 5))
    assert np.allclose(PROVERB.inputs, wanted, atol=1e-15)


@formula("A5", r"$\mathbf Q = \mathbf X\mathbf W_Q^\top,\enspace$ $\mathbf K = \mathbf X\mathbf W_K^\top,\enspace$ "
               r"$\mathbf V = \mathbf X\mathbf W_V^\top$")
def test_A5():
    head = one_head(rows, maps)
    for ours, W in zip((head.queries, head.keys, head.values), maps):
        assert np.allclose(ours, functional.linear(tensor(rows), tensor(W)), atol=1e-14)


@formula("A6", r"$S_{tj} = \frac{\mathbf q_t\,\mathbf k_j^\top}{\sqrt{d_k}}$")
def test_A6():
    head = one_head(rows, maps)
    wanted = [[sum(q * k for q, k in zip(head.queries[t], head.keys[j])) / math.sqrt(3) for j in range(7)] for t in range(7)]
    assert np.allclose(head.scaled_scores, wanted, atol=1e-14)


@formula("A7", r"$A_{tj} = \frac{\exp(S_{tj} - m_t)}{\sum_r \exp(S_{tr} - m_t)},\enspace$ $m_t = \max_r S_{tr}$")
def test_A7():
    S = 300 * normal(4, 6)
    assert np.allclose(softmax(S), torch.softmax(tensor(S), dim=1), atol=1e-15)
    assert np.allclose(softmax([[0.0, 1.0]])[0], [1 / (1 + math.e), math.e / (1 + math.e)])


@formula("A8", r"$M_{tj} = 0$ if query $t$ may read source $j$, else $-\infty$; causal: it may if $j \le t$; $\mathbf "
               r"A = \operatorname{softmax}_{\text{rows}}(\mathbf S + \mathbf M)$")
def test_A8():
    S, allow = normal(5, 5), causal_mask(5)
    M = np.array([[0 if j <= t else -math.inf for j in range(5)] for t in range(5)])
    assert np.allclose(softmax(S, allow), torch.softmax(tensor(S + M), dim=1), atol=1e-15)


@formula("A9", r"$\mathbf o_t = \sum_j A_{tj}\,\mathbf v_j,\enspace$ $\mathbf O = \mathbf A\mathbf V$")
def test_A9():
    Q, K, V = normal(4, 3), normal(6, 3), normal(6, 2)
    ours = attend(Q, K, V).output
    wanted = functional.scaled_dot_product_attention(*(tensor(x)[None] for x in (Q, K, V)))[0]
    assert np.allclose(ours, wanted, atol=1e-14)


@formula("A10", r"$\mathbf C = [\mathbf O^{[1]} \mid \cdots \mid \mathbf O^{[N_{\text{head}}]}],\enspace$ "
                r"$\mathbf B_{\text{att}} = \mathbf C\,\mathbf W_O^\top$")
def test_A10():
    heads = [HeadMaps(normal(3, 5), normal(3, 5), normal(2, 5)) for _ in range(2)]
    W_O = normal(5, 4)
    ours = multi_head(rows, heads, W_O)
    outputs = [functional.scaled_dot_product_attention(*(tensor(rows @ W.T)[None] for W in head))[0] for head in heads]
    assert np.allclose(ours.projection, functional.linear(torch.cat(outputs, dim=1), tensor(W_O)), atol=1e-13)


@formula("A11", r"$\mathbf A(\boldsymbol\Pi\mathbf H) = \boldsymbol\Pi\,\mathbf A(\mathbf "
                r"H)\,\boldsymbol\Pi^\top,\enspace$ "
                r"$\mathbf O(\boldsymbol\Pi\mathbf H) = \boldsymbol\Pi\,\mathbf O(\mathbf H)$")
def test_A11():
    Pi = np.eye(7)[RNG.permutation(7)]
    one, other = one_head(rows, maps), one_head(Pi @ rows, maps)
    assert np.allclose(other.weights, Pi @ one.weights @ Pi.T, atol=1e-14)
    assert np.allclose(other.output, Pi @ one.output, atol=1e-14)


# Part III: the encoder

gamma, beta, eps = normal(5), normal(5), 1e-5
norm = NormWeights(gamma, beta, eps)
mlp_weights = MLPWeights(normal(4, 5), normal(4), normal(5, 4), normal(5))
block_weights = BlockWeights(norm, (maps, maps), normal(5, 4), NormWeights(normal(5), normal(5)), mlp_weights)
torch_norm = lambda x, n: functional.layer_norm(tensor(x), (5,), tensor(n.gamma), tensor(n.beta), n.eps).numpy()


def torch_mlp(x):
    W_1, b_1, W_2, b_2 = map(tensor, mlp_weights)
    return functional.linear(torch.relu(functional.linear(tensor(x), W_1, b_1)), W_2, b_2).numpy()


def torch_attention(rows):
    projected = [[tensor(rows @ W.T)[None] for W in head] for head in block_weights.heads]
    heads = [functional.scaled_dot_product_attention(*three)[0] for three in projected]
    return functional.linear(torch.cat(heads, dim=1), tensor(block_weights.W_O)).numpy()


@formula("E1", r"$\mu_t = \frac1D \sum_c h_{t,c},\enspace$ $\sigma_t^2 = \frac1D \sum_c (h_{t,c} - \mu_t)^2$")
def test_E1():
    ours = layer_norm(rows, norm)
    variance, mean = torch.var_mean(tensor(rows), dim=1, correction=0)
    assert np.allclose(ours.mean, mean) and np.allclose(ours.variance, variance)


@formula("E2", r"$\operatorname{LN}(\mathbf h_t)_c = \gamma_c\,\frac{h_{t,c} - \mu_t}{\sqrt{\sigma_t^2 + \epsilon}} + "
               r"\beta_c$")
def test_E2():
    assert np.allclose(layer_norm(rows, norm).output, torch_norm(rows, norm), atol=1e-13)


@formula("E3", r"$\mathbf Z = \mathbf R\mathbf W_1^\top + \mathbf b_1,\enspace$ "
               r"$\mathbf J = \max(0, \mathbf Z),\enspace$ "
               r"$\mathbf B_{\text{mlp}} = \mathbf J\mathbf W_2^\top + \mathbf b_2$")
def test_E3():
    assert np.allclose(mlp(rows, mlp_weights).output, torch_mlp(rows), atol=1e-13)


@formula("E4", r"$\mathbf U = \mathbf H^{(\ell)} + \operatorname{MHA}(\operatorname{LN}_1(\mathbf "
               r"H^{(\ell)})),\enspace$ "
               r"$\mathbf H^{(\ell+1)} = \mathbf U + \operatorname{MLP}(\operatorname{LN}_2(\mathbf U))$")
def test_E4():
    U = rows + torch_attention(torch_norm(rows, norm))
    wanted = U + torch_mlp(torch_norm(U, block_weights.norm_2))
    assert np.allclose(block(rows, block_weights).output, wanted, atol=1e-12)


@formula("E5", r"$\mathbf U = \operatorname{LN}_1(\mathbf H^{(\ell)} + \operatorname{MHA}(\mathbf "
               r"H^{(\ell)})),\enspace$ "
               r"$\mathbf H^{(\ell+1)} = \operatorname{LN}_2(\mathbf U + \operatorname{MLP}(\mathbf U))$")
def test_E5():
    U = torch_norm(rows + torch_attention(rows), norm)
    wanted = torch_norm(U + torch_mlp(U), block_weights.norm_2)
    assert np.allclose(block(rows, block_weights, placement="post").output, wanted, atol=1e-12)


@formula("E6", r"$\mathbf H_{\text{enc}} = \operatorname{LN}_{\text{final}}(\mathbf H^{(N_{\text{layers}})})$")
def test_E6():
    ours = stack(rows, [block_weights] * 3, norm)
    H = rows
    for _ in range(3):
        H = block(H, block_weights).output
    assert np.allclose(ours.output, torch_norm(H, norm), atol=1e-12)


@formula("E7", r"for $\mathbf y = \mathbf h + \mathbf f(\mathbf h)$ and $g_j = \frac{\partial\mathcal L}{\partial "
               r"y_j}$: $\frac{\partial\mathcal L}{\partial h_i} = g_i + \sum_j g_j\,\frac{\partial f_j}{\partial h_i}$")
def test_E7():
    W, h = tensor(normal(5, 5)), tensor(normal(5)).requires_grad_()
    f = lambda v: torch.tanh(v @ W.T)
    out = h + f(h)
    out.retain_grad()
    (out ** 3).sum().backward()
    Jacobian = torch.autograd.functional.jacobian(f, h.detach())  # [j, i]
    g = out.grad
    assert np.allclose(h.grad, [g[i] + sum(g[j] * Jacobian[j, i] for j in range(5)) for i in range(5)], atol=1e-12)


logits, classes = normal(6, 4), np.array([3, 0, 1, 1, 2, 3])


@formula("T1", r"$\mathbf s_t = \mathbf h_{\text{enc},t}\,\mathbf W_o^\top + \mathbf b_o$")
def test_T1():
    W, b = normal(4, 5), normal(4)
    assert np.allclose(rows @ W.T + b, functional.linear(tensor(rows), tensor(W), tensor(b)), atol=1e-14)


@formula("T2", r"$p_{t,c} = \frac{\exp s_{t,c}}{\sum_r \exp s_{t,r}},\enspace$ $\ell_t = -\log p_{t,y_t}$")
def test_T2():
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ours = -np.log(p[np.arange(6), classes])
    assert np.allclose(ours, functional.cross_entropy(tensor(logits), torch.tensor(classes), reduction="none"), atol=1e-14)


@formula("T3", r"$\overline{\mathbf h} = \frac{\sum_t m_t\,\mathbf h_{\text{enc},t}}{\sum_t m_t}$")
def test_T3():
    m = np.array([1, 0, 1, 1, 0, 0, 1])
    ours = (m[:, None] * rows).sum(axis=0) / m.sum()
    assert np.allclose(ours, tensor(rows)[torch.tensor(m, dtype=torch.bool)].mean(dim=0))
    assert np.allclose(np.array([1, 1, 0, 0]) @ np.array([[1, 0], [1, 0], [0, 2], [0, 2]]) / 2, [1, 0])


@formula("T4", r"$\mathcal L = \frac{\sum_t v_t\,\ell_t}{\sum_t v_t}$")
def test_T4():
    v = np.array([1, 1, 0, 1, 0, 1])
    losses = functional.cross_entropy(tensor(logits), torch.tensor(classes), reduction="none").numpy()
    ignoring = torch.tensor(np.where(v, classes, -100))
    assert math.isclose((v * losses).sum() / v.sum(), functional.cross_entropy(tensor(logits), ignoring).item(), rel_tol=1e-12)


@formula("T5", r"$y_t = k_{t+1}$")
def test_T5():
    ids = PROVERB.with_tokens("a journey of a thousand miles begins with").ids
    inputs, targets = ids[:-1], ids[1:]
    assert all(targets[t] == ids[t + 1] for t in range(len(inputs))) and PROVERB.vocabulary[targets[-1]] == "with"
    sure = np.where(np.arange(9) == ids[1:, None], 50.0, 0.0)  # a model that knows the next word
    assert functional.cross_entropy(tensor(sure), torch.tensor(targets)).item() < 1e-12


@formula("T6", r"$M_{tj} = 0$ if $m_j = 1$ and the task permits source $j$, else $-\infty$")
def test_T6():
    S, m = normal(4, 4), np.array([1, 1, 1, 0])
    allow = (m == 1)[None, :] & causal_mask(4)
    M = np.where(allow, 0, -math.inf)
    assert np.allclose(softmax(S, allow), torch.softmax(tensor(S + M), dim=1), atol=1e-15)
    assert (softmax(S, allow)[:, 3] == 0).all()


@formula("T7", r"$N_{\text{patch}} = \frac{H_{\text{img}}}{p} \cdot \frac{W_{\text{img}}}{p}$, each of $p^2 "
               r"C_{\text{img}}$ numbers")
def test_T7():
    channels, height, width, p = 2, 6, 9, 3
    patches = functional.unfold(torch.zeros(1, channels, height, width), kernel_size=p, stride=p)
    assert patches.shape[1:] == (p * p * channels, (height // p) * (width // p))


# Part IV: the original architecture


@formula("O1", r"$p(y \mid x) = \prod_{t=0}^{T_y-1} p(y_t \mid y_{<t},\, x)$")
def test_O1():
    joint = RNG.random((2, 3, 4))
    joint /= joint.sum()
    first, second = joint.sum(axis=(1, 2)), joint.sum(axis=2)
    for a, b, c in itertools.product(range(2), range(3), range(4)):
        factors = first[a], second[a, b] / first[a], joint[a, b, c] / joint[a, b].sum()
        assert math.isclose(math.prod(factors), joint[a, b, c], rel_tol=1e-12)


@formula("O2", r"$p(y \mid x) = \prod_{t=0}^{T_y-1} p(y_t \mid y_{<t},\, \mathbf c),\enspace$ $\mathbf c = f(x)$")
def test_O2():
    encoder, words, previous = normal(2, 6), normal(3, 2), normal(3, 4)

    def probability(y, source):
        c, product, before = encoder @ source, 1.0, 3  # index 3: no word yet
        for word in y:
            product *= torch.softmax(tensor(words @ c + previous[:, before]), dim=0)[word].item()
            before = word
        return product

    source = normal(6)
    other = source + np.linalg.svd(encoder)[2][-1]  # another source with the same context
    targets = list(itertools.product(range(3), repeat=3))
    assert math.isclose(sum(probability(y, source) for y in targets), 1, rel_tol=1e-12)
    assert all(math.isclose(probability(y, source), probability(y, other), rel_tol=1e-9) for y in targets)


annotations, state, W_a, U_a, v_a = normal(4, 3), normal(2), normal(5, 2), normal(5, 3), normal(5)


@formula("O3", r"$e_{t,i} = \tanh(\mathbf s_{t-1}\mathbf W_a^\top + \mathbf h_i\,\mathbf U_a^\top)\,\mathbf v_a^\top$")
def test_O3():
    wanted = functional.linear(torch.tanh(functional.linear(tensor(state), tensor(W_a)) +
                                          functional.linear(tensor(annotations), tensor(U_a))), tensor(v_a)[None])[:, 0]
    assert np.allclose([np.tanh(state @ W_a.T + h @ U_a.T) @ v_a for h in annotations], wanted, atol=1e-14)


@formula("O4", r"$\alpha_{t,i} = \frac{\exp e_{t,i}}{\sum_r \exp e_{t,r}},\enspace$ "
               r"$\mathbf c_t = \sum_i \alpha_{t,i}\,\mathbf h_i$")
def test_O4():
    e = np.tanh(state @ W_a.T + annotations @ U_a.T) @ v_a
    alpha = np.exp(e) / np.exp(e).sum()
    wanted = torch.softmax(tensor(e), dim=0)
    assert np.allclose(alpha, wanted)
    assert np.allclose(sum(a * h for a, h in zip(alpha, annotations)), wanted @ tensor(annotations))


@formula("O5", r"$\operatorname{Var}(\mathbf q\,\mathbf k^\top) = d_k,\enspace$ "
               r"$\operatorname{Var}(\mathbf q\,\mathbf k^\top / \sqrt{d_k}) = 1$ for independent coordinates of mean "
               r"0 and variance 1")
def test_O5():
    for d_k in (1, 2, 4):  # coordinates +1 or -1: the expectation is a finite sum
        signs = np.array(list(itertools.product((-1, 1), repeat=d_k)))
        dots = (signs @ signs.T).ravel()
        assert dots.mean() == 0 and dots.var() == d_k and math.isclose((dots / math.sqrt(d_k)).var(), 1)


@formula("O6", r"$\frac{\partial a_i}{\partial S_j} = a_i\,(\delta_{ij} - a_j)$")
def test_O6():
    S = tensor(normal(5))
    a = torch.softmax(S, dim=0).numpy()
    ours = [[a[i] * ((i == j) - a[j]) for j in range(5)] for i in range(5)]
    assert np.allclose(ours, torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=0), S), atol=1e-15)


@formula("O7", r"with $d_k = D / N_{\text{head}}$, the heads' $\mathbf W_Q$ have $N_{\text{head}} \cdot D \cdot d_k = "
               r"D^2$ weights together; so have $\mathbf W_K$ and $\mathbf W_V$")
def test_O7():
    for heads in (1, 2, 3, 4, 6, 12):
        module = torch.nn.MultiheadAttention(12, heads)
        assert heads * 12 * (12 // heads) == 12 ** 2 == module.in_proj_weight.numel() // 3


@formula("O8", r"$N_{\text{weights}} = 4D^2 + 2DF,\enspace$ $N_{\text{layer}} = 4D^2 + 2DF + F + 9D$")
def test_O8():
    for D, F, heads in ((512, 2048, 8), (6, 7, 2)):
        layer = torch.nn.TransformerEncoderLayer(D, heads, F)
        assert 4 * D * D + 2 * D * F == sum(leaf.numel() for leaf in layer.parameters() if leaf.ndim == 2)
        assert 4 * D * D + 2 * D * F + F + 9 * D == sum(leaf.numel() for leaf in layer.parameters())


@formula("O9", r"scores $B\,N_{\text{head}}\,T^2$, rows $B\,T\,D$, MLP hidden $B\,T\,F$")
def test_O9():
    B, heads, T, D, F = 3, 2, 7, 6, 11
    rows = torch.zeros(B, T, D)
    weights = torch.nn.MultiheadAttention(D, heads, batch_first=True)(rows, rows, rows, average_attn_weights=False)[1]
    assert (weights.numel(), rows.numel(), torch.nn.Linear(D, F)(rows).numel()) == (B * heads * T * T, B * T * D, B * T * F)


@formula("O10", r"$4TD^2 + 2T^2D + 2TDF$ for a layer; $2T^2D > 2TDF \iff T > F,\enspace$ "
                r"$4TD^2 + 2T^2D > 2TDF \iff T > F - 2D$")
def test_O10():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    T, D, F = 7, 6, 11
    layer = torch.nn.TransformerEncoderLayer(D, 2, F, batch_first=True)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, T, D))
    assert counter.get_total_flops() == 2 * (4 * T * D * D + 2 * T * T * D + 2 * T * D * F)
    for T, D, F in itertools.product(range(1, 12), (1, 2, 3), (1, 4, 9)):
        assert (2 * T * T * D > 2 * T * D * F) == (T > F)
        assert (4 * T * D * D + 2 * T * T * D > 2 * T * D * F) == (T > F - 2 * D)


# Part V: laboratory


@formula("L1", r"a uniform guess among $C$ classes has accuracy $\frac1C$ and cross-entropy $\log C$")
def test_L1():
    C = 4
    assert math.isclose(functional.cross_entropy(torch.zeros(C, C, dtype=torch.float64), torch.arange(C)).item(), math.log(C))
    assert np.mean([guess == truth for guess in range(C) for truth in range(C)]) == 1 / C


@formula("L2", r"$\overline a = \frac1n \sum_i a_i,\enspace$ $s = \sqrt{\frac{1}{n-1} \sum_i (a_i - \overline a)^2}$")
def test_L2():
    a = normal(3)
    mean = a.sum() / 3
    deviation, wanted = torch.std_mean(tensor(a), correction=1)
    assert math.isclose(mean, wanted.item()) and math.isclose(math.sqrt(((a - mean) ** 2).sum() / 2), deviation.item())


@formula("L3", r"one step $\widehat x_{t+1} = f(x_t)$; rollout $\widehat x_{t+1} = f(\widehat x_t)$ from $\widehat x_0 "
               r"= x_0$")
def test_L3():
    true, model, x = 0.9, 0.8, [1.0]
    for _ in range(5):
        x.append(true * x[-1])
    one_step = [model * value for value in x[:-1]]
    rollout = [x[0]]
    for _ in range(5):
        rollout.append(model * rollout[-1])
    assert np.allclose(one_step, [model * true ** t for t in range(5)]) and np.allclose(rollout, [model ** t for t in range(6)])


@formula("L4", r"$\operatorname{MSE} = \frac1n \sum_i (\widehat x_i - x_i)^2$")
def test_L4():
    a, b = normal(9), normal(9)
    assert math.isclose(((a - b) ** 2).sum() / 9, functional.mse_loss(tensor(a), tensor(b)).item())
