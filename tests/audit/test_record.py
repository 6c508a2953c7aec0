"""What `python -m benchmarks.audits record` writes of a finding."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.audits.__main__ import _is_rounding, _with_entry, forms_of


def finding(layout: str = "plain", values: str = "given", count: int = 1, precision: str = "fp32") -> SimpleNamespace:
    """Return of a finding what its forms are told by."""
    return SimpleNamespace(smallest=SimpleNamespace(layout=layout, values=values), precision=precision, count=count)


LAYOUTS = ["*, channels_last", "*, offset", "*, strided", "*, transposed"]


@pytest.mark.parametrize(
    ("group", "forms"),
    [
        ([finding()], []),
        ([finding("transposed"), finding()], []),
        ([finding(precision="bf16")], []),
        ([finding("cut along axis 0")], []),
        ([finding("strided")], ["*, strided"]),
        ([finding("transposed", count=2)], LAYOUTS),
        ([finding(values="nan and infinities")], ["*, nan and infinities"]),
        ([finding(values="nan and infinities", count=2)], sorted([*LAYOUTS, "*, nan and infinities"])),
        ([finding("strided"), finding(values="nan and infinities")], ["*, nan and infinities", "*, strided"]),
    ],
)
def test_a_finding_of_a_layout_or_of_no_numbers_alone_is_narrowed(group, forms):
    """One that shows in a plain form too is of every form."""
    assert forms_of(group) == forms


@pytest.mark.parametrize(
    ("before", "after", "forms"),
    [
        (["*, strided"], ["*, transposed"], ["*, strided", "*, transposed"]),
        (["*, strided"], None, None),
        (None, ["*, strided"], None),
    ],
)
def test_an_entry_of_every_form_is_not_narrowed_by_another(before, after, forms):
    """What an audit adds widens what is on record."""
    entries = [{"name": "own", "ways": ["torch.exp"]} | ({"forms": each} if each else {}) for each in (before, after)]
    [merged] = _with_entry(entries[:1], entries[1])
    assert merged.get("forms") == forms


@pytest.mark.parametrize(("precision", "is_rounding"), [("fp32", True), ("fp16", True), ("bf16", False)])
def test_what_no_limit_can_hold_is_on_record(precision, is_rounding):
    """60 floors may be rounding, of which a row tells; in bf16 no row makes a limit so wide."""
    found = SimpleNamespace(kind="wrong", known=None, problem="", ratio=60.0, precision=precision)
    assert _is_rounding(found) is is_rounding
