"""The corpus of real failures: what it holds, and how well it is told."""

import random
from collections import Counter

import pytest

from benchmarks.failures import corpus, fail, scripts, told
from vigil.failures import rules
from vigil.failures import triage as room
from vigil.failures.categories import CATEGORIES, OF_THE_STUDY
from vigil.failures.triage import Evidence, triage

LEFT = corpus()
LEAST_RIGHT = 0.95


def share_right() -> float:
    """Return the share of the corpus that is told right."""
    return sum(told(one).category == one.category for one in LEFT) / len(LEFT)


def test_each_category_happened_for_real_in_each_framework_and_without():
    """At least 120 failures, every category among them, and near misses in all tables."""
    assert len(LEFT) >= 120
    assert {one.category for one in LEFT} == set(CATEGORIES)
    assert len(OF_THE_STUDY) == 20
    for table in ("torch", "tensorflow", "jax"):
        assert {each.key for each in OF_THE_STUDY} <= {one.category for one in LEFT if one.table in (table, "plain")}
        assert Counter(one.table for one in LEFT)[table] >= 40
    assert {one.table for one in LEFT if one.is_near_miss} == {"plain", "torch", "tensorflow", "jax"}


def test_the_corpus_is_told_right():
    """At least 95 of 100, and each near miss."""
    assert share_right() >= LEAST_RIGHT
    assert [one.name for one in LEFT if one.is_near_miss and told(one).category != one.category] == []


@pytest.mark.parametrize(
    "name",
    [
        "torch/launcher_given_script_not_there",  # what was launched says it, above the launcher's traceback
        "tensorflow/token_beyond_embedding_table",  # below forty lines of where in the graph it arose
        "tensorflow/gradient_none_clipped",  # a ValueError about None
        "jax/orthogonal_init_in_bfloat16",  # raised from a lookup that found nothing
        "jax/npz_without_label_array",  # a KeyError of a reader, about the program's key
        "jax/half_precision_loss_overflows",  # an assertion without words
    ],
)
def test_what_takes_more_than_words_is_told_right(name):
    """Each has a way of its own to be told, which no other failure of the corpus needs."""
    [one] = [each for each in LEFT if f"{each.table}/{each.name}" == name]
    assert told(one).category == one.category


@pytest.mark.parametrize("blind", ["deciding", "category_of", "category_of_line"])
def test_a_triage_that_sees_less_is_caught(monkeypatch, blind):
    """Without chains of exceptions, their types, or what shells and native code say, fewer are told right."""
    before = share_right()
    monkeypatch.setattr(room, blind, lambda _: [] if blind == "deciding" else None)
    assert share_right() < before


def test_words_alone_do_not_tell_a_near_miss(monkeypatch):
    """An exception whose type says what it is is not told by the words of its message: the first rule that fits would be."""


    def by_words(raised):
        found = next((category for category, pattern in rules._COMPILED if pattern.search(raised.message)), "unknown")
        return rules.Found(found, "rule", raised.line)

    monkeypatch.setattr(room, "category_of", by_words)
    assert any(told(one).category != one.category for one in LEFT if one.is_near_miss)


def test_the_line_that_decides_is_of_the_log():
    """Unless it is what the kernel or the conductor said."""
    for one in LEFT:
        line = told(one).line
        said = ("the kernel killed", "it was ended")
        words = (line or "").rpartition("Error: ")[2][:60]
        is_there = line is None or line.startswith(said) or any(words in each for each in one.log)
        assert is_there, one.name


def test_no_log_breaks_the_triage():
    """Lines of all logs in any order, cut anywhere: a category comes of each, for a record must be made of every run."""
    numbers = random.Random(0)
    lines = [line for one in LEFT for line in one.log]
    for _ in range(300):
        log = [line[: numbers.randrange(len(line) + 1)] for line in numbers.sample(lines, 40)]
        exit_code = numbers.choice([None, -99, -11, -9, 0, 1, 137, 200, 255])
        assert triage(Evidence(log, exit_code=exit_code, said=numbers.choice([None, "crash", "died"]))).category in CATEGORIES


@pytest.mark.slow
@pytest.mark.parametrize("table", ["plain", "torch", "tensorflow", "jax"])
def test_a_sample_fails_today_as_it_did(table):
    """Every ninth script, run again, ends as the corpus has it, and is told the same."""
    kept = {one.name: one for one in LEFT if one.table == table}
    for script in [each for each in scripts(table) if not {"tmpfs", "readonly", "cgroup", "locked"} & each.limits.keys()][::9]:
        again, before = fail(script), kept[script.name]
        assert (again.exit_code, told(again).category) == (before.exit_code, told(before).category), script.name
