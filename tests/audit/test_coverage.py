"""What an audit reaches: names that were never answered are not audited."""

from __future__ import annotations

from vigil.audit.coverage import coverage_of


def test_a_name_that_never_answered_is_not_audited():
    """Without an audit, what has a definition is; in one, what was held to it."""
    public = {"torch": {"torch.exp": "torch.exp", "torch.tanh": "torch.tanh"}}
    called = {"exp": ["torch.exp"], "tanh": ["torch.tanh (in place)"]}
    [planned] = coverage_of("torch", public, called)
    [found] = coverage_of("torch", public, called, answered={"torch.tanh (in place)"})
    assert (planned.audited, planned.unseen) == (2, ())
    assert (found.audited, found.unseen) == (1, ("torch.exp",))
