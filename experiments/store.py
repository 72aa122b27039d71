"""Stored runs: one JSON file each, with settings, provenance, scores, curves and the selected parameters.

One file, so that a run is either there as a whole or not at all.
"""

import base64
import hashlib
import json
import os
import platform
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from .episodes import SPLITS, episodes
from .training import Recipe, Run, Score

RESULTS = Path(__file__).parent / "results"
CODE = ("episodes.py", "models.py", "training.py")


class Stored(NamedTuple):
    """A run read back, with its scores on test episodes by delay and where it was made."""
    run: Run
    test: dict[int, Score]
    made: dict                     # versions, processor, threads, seconds, a fingerprint of the code


def run_name(recipe: Recipe) -> str:
    """A file name that says how a recipe differs from the grid: gru-16, rnn-8-batch64."""
    name = f"{recipe.model.lower()}-{'+'.join(map(str, recipe.delays))}"
    for field in fields(Recipe):
        value = getattr(recipe, field.name)
        if field.name not in ("model", "delays") and value != field.default:
            name += f"-{field.name.removesuffix('_seed')}{'+'.join(map(str, value)) if isinstance(value, tuple) else value}"
    return name


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def episodes_digest(recipe: Recipe) -> str:
    """A fingerprint of the episodes a run was trained, selected and scored on."""
    parts = [episodes(delay, split, recipe.data_seed).tobytes() for delay in recipe.delays for split in SPLITS]
    return digest(b"".join(parts))


def code_digest() -> str:
    """A fingerprint of the code that decides a run's outcome."""
    return digest(b"".join((Path(__file__).parent / name).read_bytes() for name in CODE))


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine() -> dict:
    """What besides the recipe may move a digit: versions, processor, threads."""
    return {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}", "processor": processor(), "threads": 1}


def replace(path: Path, data: bytes):
    """Write a file in one step: either the old content stands there or the whole new one."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)


def packed(scores: Score) -> dict:
    return {name: np.round(value, 6).tolist() for name, value in scores._asdict().items()}


def unpacked(content: dict) -> Score:
    return Score(*(np.array(content[name]) for name in Score._fields))


def save(run: Run, test: dict[int, Score], seconds: float, folder: Path = RESULTS) -> Path:
    """Write a finished run and say where."""
    theta = run.theta.numpy().astype("<f4")
    content = {
        "recipe": asdict(run.recipe), "made": machine() | {"seconds": round(seconds, 1), "code": code_digest()},
        "episodes": episodes_digest(run.recipe),
        "best_epoch": run.best_epoch.tolist(), "test": {str(delay): packed(s) for delay, s in test.items()},
        "training_loss": np.round(run.training_loss, 6).tolist(), "validation": packed(run.validation),
        "parameters": {"sha256": digest(theta.tobytes()), "float32": base64.b64encode(theta.tobytes()).decode()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run_name(run.recipe)}.json"
    replace(path, (json.dumps(content) + "\n").encode())
    return path


def read(path: Path, recipe: Recipe) -> tuple[dict, Stored]:
    """The content of a file that is complete in itself, whatever its recipe."""
    content = json.loads(path.read_text(encoding="utf-8"))
    theta = base64.b64decode(content["parameters"]["float32"], validate=True)
    if digest(theta) != content["parameters"]["sha256"]:
        raise ValueError("the parameters are not those that were written")
    theta = torch.from_numpy(np.frombuffer(theta, "<f4").reshape(len(content["best_epoch"]), -1).copy())
    validation, losses = unpacked(content["validation"]), np.array(content["training_loss"])
    for name, curve in (("training_loss", losses), *validation._asdict().items()):
        if curve.shape != (content["recipe"]["epochs"], len(theta)) or not np.isfinite(curve).all():
            raise ValueError(f"{name} has shape {curve.shape}")
    test = {int(delay): unpacked(scores) for delay, scores in content["test"].items()}
    return content, Stored(Run(recipe, theta, np.array(content["best_epoch"]), losses, validation), test, content["made"])


def load(recipe: Recipe, folder: Path = RESULTS) -> Stored:
    """Read the stored run of a recipe.

    Raises ValueError, naming the file and what was wanted, when it is missing or damaged, or when it was
    made with other settings or on other episodes.
    """
    name = run_name(recipe)
    here = f"{folder.name}/{name}.json"
    if not (path := folder / f"{name}.json").is_file():
        raise ValueError(f"{here}: wanted a stored run, found none; `python -m experiments.train {name}` makes it")
    try:
        content, stored = read(path, recipe)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{here}: wanted a complete stored run, got a damaged file ({type(error).__name__}: {error})") from None
    for field, wanted in json.loads(json.dumps(asdict(recipe))).items():
        if content["recipe"].get(field) != wanted:
            raise ValueError(f"{here}: wanted a run with {field} {wanted!r}, got {content['recipe'].get(field)!r}")
    if content["episodes"] != episodes_digest(recipe):
        raise ValueError(f"{here}: wanted a run on the episodes of data seed {recipe.data_seed}, got one on others")
    return stored
