"""The publishing workflow has not run here; what can be checked of it without a runner is checked."""

import re
import subprocess
import sys

import yaml
from conftest import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"


def jobs():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]


def commands(job):
    return "\n".join(step.get("run", "") for step in jobs()[job]["steps"])


def test_the_workflow_fits_the_schema_of_github_actions():
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_that_it_calls_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    called = {word for job in jobs() for line in re.findall(r"\bmake ([^\n]+)", commands(job))
              for word in line.split() if "=" not in word}
    assert called and called <= targets, called - targets
    tools = {name for job in jobs() for name in re.findall(r"book/_tools/\w+\.py", commands(job))}
    assert tools and all((ROOT / name).is_file() for name in tools), tools


def test_jobs_need_jobs_that_exist_and_nothing_is_published_untested():
    for name, job in jobs().items():
        assert set(job.get("needs", [])) <= set(jobs()), name
    assert {"linux", "elsewhere"} == set(jobs()["pages"]["needs"]) == set(jobs()["release"]["needs"])
    assert "make test" in commands("linux") and "pytest" in commands("elsewhere")


def test_every_action_and_runner_names_its_version():
    for job in jobs().values():
        assert not str(job["runs-on"]).endswith("-latest")
        for step in job["steps"]:
            assert "uses" not in step or re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), step


def test_files_that_it_packs_exist():
    for name in re.search(r"zip -r \S+ (.*)", commands("release")).group(1).split():
        assert "*" in name or (ROOT / name).exists(), name
    assert all((ROOT / path).is_dir() for path in ("chapters", "helpers", "figures", "experiments"))


def test_the_workflow_says_that_it_has_not_run():
    assert WORKFLOW.read_text(encoding="utf-8").startswith("# Not yet run")
