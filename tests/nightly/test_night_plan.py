"""What a night looks at first, and that every cell has its turn within a week."""

import dataclasses

import pytest

from tests.nightly.nights import RECIPE, a_cell, a_document, a_row, all_cells, day
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.nightly import cells, night_plan
from vigil.nightly.cells import night_cells
from vigil.nightly.ledger import DueCell, Ledger
from vigil.nightly.night_plan import Estimator, make_plan


def due_of(*cells, is_urgent=False, since=0):
    """Return cells as due."""
    return [DueCell(cell, "b", "", day(since), is_urgent) for cell in cells]


def seconds_of(cell):
    """Every cell takes a minute."""
    return 60.0


def keys(some):
    """Return the keys of what is due."""
    return [each.cell.key for each in some]


def a_plan(due, *, budget=600.0, jobs=1, total=0.0, seconds=seconds_of):
    """Return the plan."""
    return make_plan(due, seconds=seconds, budget=budget, jobs=jobs, total=total)


def test_a_plan_stays_within_its_budget():
    """What does not fit is left, and nothing is lost between the two lists."""
    due = due_of(*all_cells())
    planned = a_plan(due, budget=600.0, jobs=2)
    assert len(planned.chosen) == 20
    assert sorted(keys([*planned.chosen, *planned.left])) == sorted(keys(due))


def test_a_shorter_one_that_fits_is_taken():
    """The cell that is worth most takes longer than there is time; another does not."""
    slow, quick = due_of(a_cell(VERIFY), a_cell(VERIFY, "jax-eager-fp32-x1"))
    planned = a_plan([slow, quick], seconds=lambda cell: 900.0 if cell == slow.cell else 60.0)
    assert (keys(planned.chosen), keys(planned.left)) == (keys([quick]), keys([slow]))


def test_no_cell_is_planned_that_the_clock_cannot_hold():
    """Two workers have twenty minutes between them in a budget of ten, and still no cell of fifteen."""
    planned = a_plan(due_of(a_cell(), a_cell(VERIFY)), jobs=2, seconds=lambda cell: 900.0 if cell.kind == REPRODUCE else 60.0)
    assert keys(planned.chosen) == ["verify resnet_cifar quick jax-jit-fp32-x1"]


def test_the_first_cell_is_chosen_whatever_it_takes():
    """A budget that is too small for anything still looks at the most valuable context."""
    planned = a_plan(due_of(*all_cells()), budget=1.0)
    assert keys(planned.chosen) == ["verify resnet_cifar quick jax-jit-fp32-x1"]


def test_a_night_that_is_begun_chooses_nothing_without_time():
    """Its first cell had its turn before the night was broken off."""
    assert make_plan(due_of(*all_cells()), seconds=seconds_of, budget=1.0, jobs=1, total=0.0, is_begun=True).chosen == []


def test_a_verification_comes_before_its_reproduction():
    """Whatever a reproduction is worth by the minute, and even if it alone is urgent."""
    due = [*due_of(a_cell(), is_urgent=True), *due_of(a_cell(VERIFY))]
    planned = a_plan(due, seconds=lambda cell: 300.0 if cell.kind == VERIFY else 1.0)
    assert keys(planned.chosen) == [f"{kind} resnet_cifar quick jax-jit-fp32-x1" for kind in (VERIFY, REPRODUCE)]


def test_a_companion_comes_before_who_is_held_to_it():
    """On one device before two, whatever is due; and a cell that comes before several others is taken once."""
    cells = [each for each in night_cells(RECIPE, "quick", frameworks=["jax"]) if each.kind == VERIFY]
    chosen = keys(a_plan(due_of(*reversed(cells)), budget=1e6).chosen)
    assert sorted(chosen) == sorted(each.key for each in cells)
    short = [each for each in cells if each.is_short and each.companion]
    assert len(short) > 10
    assert all(chosen.index(each.companion.key) < chosen.index(each.key) for each in short)


def test_a_reproduction_whose_verification_does_not_fit_is_left():
    """It is not trained beside a step that nobody has looked at."""
    due = [*due_of(a_cell()), *due_of(a_cell(VERIFY)), *due_of(a_cell(VERIFY, "jax-eager-bf16-x1"))]
    planned = a_plan(due, seconds=lambda cell: 595.0 if cell == a_cell(VERIFY) else 20.0)
    assert "reproduce resnet_cifar quick jax-jit-fp32-x1" not in keys(planned.chosen)


def test_neighbours_come_before_what_is_verified_in_the_short_form():
    """However little it takes, and by way of a reproduction too: what it leaves out is looked at in them."""
    cells = {cell.key.removeprefix("verify resnet_cifar quick "): cell for cell in all_cells() if cell.kind == VERIFY}
    short, near = cells["jax-compile-bf16-x1"], [cells["jax-compile-fp32-x1"], cells["jax-jit-bf16-x1"]]
    due = due_of(a_cell(REPRODUCE, "jax-compile-bf16-x1"), short, *near)
    planned = a_plan(due, seconds=lambda cell: 1.0 if cell in (short, a_cell(REPRODUCE, "jax-compile-bf16-x1")) else 60.0)
    assert [one.cell for one in planned.chosen][:3] == [*near, short]
    assert [cell.is_short for cell in (short, *near)] == [True, False, False]


def test_what_is_verified_in_the_short_form_is_left_where_its_neighbours_do_not_fit():
    """Nobody has looked at what it leaves out."""
    cells = {cell.context.text: cell for cell in all_cells() if cell.kind == VERIFY}
    short, near = cells["jax-compile-bf16-x1"], [cells["jax-compile-fp32-x1"], cells["jax-jit-bf16-x1"]]
    planned = a_plan(due_of(short, *near), seconds=lambda cell: 400.0 if cell in near else 1.0)
    assert short not in [one.cell for one in planned.chosen]
    covered = a_plan(due_of(short, near[0]), seconds=lambda cell: 400.0 if cell in near else 1.0)
    assert [one.cell for one in covered.chosen] == [near[0], short]


def test_plain_contexts_come_first():
    """Of equal cost, jit in fp32 on one device is worth the most, uneven shards in float16 the least."""
    planned = a_plan(due_of(*all_cells()), budget=1e6)
    verifications = [key for key in keys(planned.chosen) if key.startswith("verify")]
    assert verifications[0].endswith("jax-jit-fp32-x1")
    assert {"fp16", "fp64"} >= {verifications[-1].split("-")[2]}


def a_tight_night():
    """Return the plan of a night that has time for all verifications, and for a reproduction of each framework besides."""
    every, estimator = all_cells(("torch", "tensorflow", "jax")), Estimator(Ledger([]), n_seeds=1)
    verifications = sum(estimator.seconds(cell) for cell in every if cell.kind == VERIFY)
    plain = sum(estimator.seconds(cell) for cell in every if cell.kind == REPRODUCE and cell.context.text.endswith("jit-fp32-x1"))
    return a_plan(due_of(*every), seconds=estimator.seconds, budget=verifications + plain + 1.0)


def test_dear_verifications_come_before_reproductions_of_rare_contexts():
    """All verifications fit, and the plain context of each framework is reproduced."""
    planned = a_tight_night()
    assert {each.cell.kind for each in planned.left} == {REPRODUCE}
    reproduced = {each.cell.context.text for each in planned.chosen if each.cell.kind == REPRODUCE}
    assert {"torch-jit-fp32-x1", "tensorflow-jit-fp32-x1", "jax-jit-fp32-x1"} <= reproduced


def test_a_reproduction_worth_a_quarter_of_a_verification_is_caught(monkeypatch):
    """Planted: compiled verifications on two devices are then left out for reproductions."""
    monkeypatch.setitem(cells._KINDS, VERIFY, 4.0)
    assert VERIFY in {each.cell.kind for each in a_tight_night().left}


def test_what_failed_comes_first():
    """A dear eager cell that failed precedes all that is only due."""
    failed = due_of(a_cell(VERIFY, "jax-eager-bf16-x2"), is_urgent=True)
    rest = [each for each in due_of(*all_cells()) if each.cell != failed[0].cell]
    assert keys(a_plan([*rest, *failed]).chosen)[0] == keys(failed)[0]


def test_a_plan_without_urgency_is_caught():
    """Planted: the flag is dropped, and the same cell is no longer first."""
    failed = due_of(a_cell(VERIFY, "jax-eager-bf16-x2"), is_urgent=True)
    rest = [each for each in due_of(*all_cells()) if each.cell != failed[0].cell]
    calm = [dataclasses.replace(each, is_urgent=False) for each in (*rest, *failed)]
    assert keys(a_plan(calm).chosen)[0] != keys(failed)[0]


def test_what_fails_every_night_does_not_keep_others_from_their_turn():
    """Ten cells that hang take at most half of the budget, and more only where nothing else is due."""
    cells = [cell for cell in all_cells() if not cell.is_short]
    urgent, rest = due_of(*cells[:10], is_urgent=True), due_of(*cells[10:])
    planned = a_plan([*urgent, *rest])
    assert sum(each.is_urgent for each in planned.chosen) == 5
    assert sum(each.is_urgent for each in a_plan(urgent).chosen) == 10


def simulate(*, nights, share, is_new_every_night, failing=frozenset()):
    """Return by cell the nights in which it was looked at, with the budget a share of what all cells take."""
    cells, documents = all_cells(("torch", "jax")), []
    looks = {cell.key: [] for cell in cells}
    for number in range(nights):
        ledger = Ledger(documents)
        estimator = Estimator(ledger, n_seeds=1)
        basis = f"release {number if is_new_every_night else 0}"
        due = [found for cell in cells if (found := ledger.due(cell, basis, when=day(number)))]
        total = sum(estimator.seconds(cell) for cell in cells)
        planned = make_plan(due, seconds=estimator.seconds, budget=share * total, jobs=1, total=total)
        rows = []
        for each in planned.chosen:
            verdict = "failed:hang" if each.cell.key in failing else "reproduced"
            rows.append(a_row(each.cell, basis=basis, verdict=verdict, seconds=estimator.seconds(each.cell)))
            looks[each.cell.key].append(number)
        rows += [a_row(each.cell, basis=basis, verdict=None) for each in planned.left]
        documents.append(a_document(rows, number=number + 1, when=day(number)))
    return looks


def longest_wait(looks, *, nights):
    """Return the most nights that any cell went without a look."""
    return max(after - before for found in looks.values() for before, after in zip([-1, *found], [*found, nights], strict=True))


@pytest.mark.parametrize("is_new_every_night", [True, False])
def test_every_cell_has_its_turn_within_a_week(is_new_every_night):
    """14 nights whose budget is a fifth of what all cells take, with a release every night, or one for all."""
    looks = simulate(nights=14, share=0.2, is_new_every_night=is_new_every_night)
    assert max(found[0] for found in looks.values()) <= 6
    assert not is_new_every_night or longest_wait(looks, nights=14) <= 7


def test_plain_contexts_are_looked_at_every_night():
    """With a release every night, the rota leaves room for what is worth most by the minute."""
    looks = simulate(nights=14, share=0.4, is_new_every_night=True)
    assert looks["verify resnet_cifar quick torch-jit-fp32-x1"] == list(range(14))


def test_cells_that_hang_every_night_do_not_stop_the_rota():
    """A sixth of all cells fails every night: the others still have their turn within a week."""
    failing = frozenset(cell.key for cell in all_cells(("torch", "jax"))[::6])
    looks = simulate(nights=14, share=0.4, is_new_every_night=True, failing=failing)
    others = {key: found for key, found in looks.items() if key not in failing}
    assert longest_wait(others, nights=14) <= 7


def test_a_plan_without_a_rota_is_caught(monkeypatch):
    """Planted: by value per minute alone, some cells are never reached in 14 nights of new releases."""
    monkeypatch.setattr(night_plan, "_NIGHTS_OF_A_ROUND", float("inf"))
    looks = simulate(nights=14, share=0.2, is_new_every_night=True)
    assert not all(looks.values())


def test_a_plan_that_lets_failures_take_all_is_caught(monkeypatch):
    """Planted: with the whole budget for what failed, cells that hang keep others waiting for more than a week."""
    monkeypatch.setattr(night_plan, "_SHARE_OF_URGENT", 1.0)
    failing = frozenset(cell.key for cell in all_cells(("torch", "jax"))[::2])
    looks = simulate(nights=14, share=0.3, is_new_every_night=True, failing=failing)
    assert longest_wait(looks, nights=14) > 7
