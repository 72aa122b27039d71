"""The publishing workflow has not run here; what can be checked of it without a runner is checked."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT
from notebooks import ARCHIVE, repository
from pages import address

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
    script = ROOT / ".ci" / "run"
    assert ".ci/run" in commands("linux") and os.access(script, os.X_OK)
    called = set(re.findall(r"^make (\w+)", script.read_text(encoding="utf-8"), re.M))
    assert {"book", "pdf", "handouts", "test"} <= called <= targets, called
    assert not any("make " in commands(job) for job in jobs()), "targets are called by .ci/run alone"
    tools = {name for job in jobs() for name in re.findall(r"book/_tools/\w+\.py", commands(job))}
    assert tools and all((ROOT / name).is_file() for name in tools), tools


def test_the_other_systems_run_all_tests_but_those_of_programs_they_lack():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    marks = {mark.partition(":")[0] for mark in project["tool"]["pytest"]["ini_options"]["markers"]}
    left_out = set(re.search(r'pytest -m "not \((.*)\)"', commands("elsewhere"))[1].split(" or "))
    assert left_out == {"browser", "jupyter", "paper"} <= marks
    assert not marks & set(commands("linux").split()), "on Linux every test runs"


def test_jobs_need_jobs_that_exist_and_nothing_is_published_untested():
    for name, job in jobs().items():
        assert set(job.get("needs", [])) <= set(jobs()), name
    assert {"linux", "elsewhere"} == set(jobs()["pages"]["needs"]) == set(jobs()["release"]["needs"])


def test_artifacts_that_are_used_have_been_made():
    made, used = ({step["with"]["name"] for job in jobs().values() for step in job["steps"] if step.get("uses", "").startswith(action)}
                  for action in ("actions/upload-artifact", "actions/download-artifact"))
    assert made == used == {"site", "pdf"}


def test_the_site_is_kept_on_the_branch_that_the_buttons_open():
    branch = repository(ROOT)[1]
    assert f"--initial-branch={branch}" in commands("pages") and re.search(rf"git push .* {branch}$", commands("pages"), re.M)


def test_a_release_holds_pdfs_notebooks_and_site():
    attached = commands("release")
    assert f"site/notebooks/{ARCHIVE}" in attached and "pdf/*.pdf" in attached and "pdf/handouts/*.pdf" in attached
    assert attached.count("site-${GITHUB_REF_NAME}.zip") == 2, "packed and attached"


@pytest.mark.parametrize("config, place", [
    ('repository: {url: ""}', ""), ("repository: {url: https://github.com/Some-Body/book}", "https://some-body.github.io/book/"),
    ("repository: {url: https://github.com/a/b.git}\nhtml: {baseurl: https://example.org/b}", "https://example.org/b/"),
    ("html: {favicon: x}", ""),
])
def test_the_place_of_the_site_follows_from_the_configuration(tmp_path, config, place):
    (tmp_path / "_config.yml").write_text(config, encoding="utf-8")
    assert address(tmp_path) == place


def test_every_action_and_runner_names_its_version():
    for job in jobs().values():
        assert not str(job["runs-on"]).endswith("-latest")
        for step in job["steps"]:
            assert "uses" not in step or re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), step


def test_the_workflow_says_that_it_has_not_run():
    assert WORKFLOW.read_text(encoding="utf-8").startswith("# Not yet run")
