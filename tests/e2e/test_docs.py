"""The pages say what the program does."""

import doctest
import importlib
import importlib.util
import re
from dataclasses import fields
from pathlib import Path

import pytest
import typer
import xlsxwriter
from python_calamine import CalamineWorkbook

import covote as covote_package
from covote.decoding import DECODERS
from tests.pages import PAGES, ROOT, files, run_commands


def load_generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "results.md", "../README.md"])
def test_the_generated_reference_is_up_to_date(page):
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == load_generator().PAGES[page](), (
        "run `python docs/generate.py`"
    )


def test_every_percentage_of_the_readme_is_a_fact():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    said = re.findall(r"[\d.]+(?= ?%)", prose)
    figures = " ".join(f"{fact['what']} {fact['value']}" for fact in load_generator().facts())
    assert said
    assert set(said) <= set(re.findall(r"\d[\d.]*\d|\d", figures))


def test_every_fact_names_a_page_and_a_command_that_exist():
    for fact in load_generator().facts():
        assert (ROOT / "benchmarks" / "results" / f"{fact['page']}.md").exists(), fact
        assert set(fact) - {"readme"} == {
            "group", "what", "value", "who", "answers", "probabilities", "page", "command", "date"
        }  # fmt: skip
        script = re.match(r"python (benchmarks/\w+\.py)", fact["command"])
        assert script is None or (ROOT / script[1]).exists(), fact


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, text in files(page).items():
        Path(name).write_text(text, encoding="utf-8")
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted == len(re.findall(r"^>>> ", page.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_console_examples_print_what_is_shown(page, covote):
    def run(*arguments):
        ran = covote(*arguments)
        return ran.out + ran.err

    run_commands(page, run)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_files_that_pages_name_are_there(page):
    named = re.findall(
        r"(?<![\w/])((?:studio/|paper/)?(?:src|tests|benchmarks|examples)/[\w/]+\.\w+)",
        page.read_text(encoding="utf-8"),
    )
    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []


def test_the_page_of_methods_has_every_option():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").split("## Options")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (`.*?) \|", page, re.MULTILINE)
    listed = {
        (method, option)
        for options, methods in rows
        for option in re.findall(r"`(\w+)`", options)
        for method in re.findall(r"`([\w-]+)`", methods)
    }
    assert listed == {(name, field.name) for name, one in DECODERS.items() for field in fields(one)}


def test_the_reference_lists_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"auto(?:class|function):: covote\.(\w+)$", page, re.MULTILINE))
    assert set(covote_package.__all__) - listed == {
        "CovoteError",
        "__version__",
    }  # errors are listed as a module
    assert {f"{one.__module__}.{one.__name__}" for one in DECODERS.values()} <= set(
        re.findall(r":: (\S+)", page)
    )


def test_the_workbook_of_the_tutorial_gets_the_labels_of_its_steps(covote):
    shown = files(ROOT / "docs" / "tutorial.md")
    with xlsxwriter.Workbook("doctors.xlsx") as book:
        for name in ("panel.csv", "answers.csv"):
            sheet = book.add_worksheet(name.removesuffix(".csv"))
            for row, line in enumerate(shown[name].splitlines()):
                sheet.write_row(row, 0, line.split(";"))
    ran = covote("start", "doctors.xlsx")
    assert ran.status == 0, ran.err
    made = {path.name for path in Path("doctors-labels").iterdir()}
    assert {"labels.xlsx", "review.xlsx", "report.html"} <= made
    rows = CalamineWorkbook.from_path("doctors-labels/labels.xlsx").get_sheet_by_index(0).to_python()
    wanted = [line.split(",") for line in shown["labels.csv"].splitlines()]
    place = [rows[0].index(column) for column in ("item", "label")]
    found = sorted((str(row[place[0]]).removesuffix(".0"), row[place[1]]) for row in rows[1:])
    assert found == sorted((row[0], row[1]) for row in wanted[1:])


def options_of_commands():
    """Return the options of every command by its name; those of a topic have its name in front."""
    generator = load_generator()
    group = typer.main.get_command(generator.app)
    context = typer.Context(group)
    return {
        name: {one for parameter in command.params for one in parameter.opts} | {"--help"}
        for name, command in generator._commands(group, context)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_a_page_names_have_these_options(page):
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    written = re.findall(r"^(?:\$ )?covote (.*)$", blocks.replace("\\\n", " "), re.MULTILINE)
    written += re.findall(r"`covote ([^`]+)`", prose)
    known = options_of_commands()
    for one in written:
        words = one.split()
        name = " ".join(words[:2]) if words[0] == "multilabel" else words[0]
        if name.startswith("--") or not re.fullmatch(r"[a-z -]+", name) or name in ("multilabel", "studio"):
            continue  # an option of all commands, a name such as COMMAND, a topic, or another distribution's
        assert name in known, one
        options = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert options <= known[name], one
