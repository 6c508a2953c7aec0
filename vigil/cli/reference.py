"""`vigil reference`: what references there are, add to them, take samples out with a reason, see what a change does to them."""

from __future__ import annotations

import argparse
import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from reports.diff_text import diff_lines, diff_markdown
from reports.reference_table import show, supersede_lines
from vigil.cli import options, reference_add
from vigil.cli.answers import ChangedProfile, DiffAnswer, ShowAnswer, SupersedeAnswer
from vigil.digests import FILE_NAME as LIST
from vigil.documents.context import FRAMEWORKS
from vigil.errors import EXIT_OUTSIDE, EXIT_REPRODUCED, UsageError
from vigil.paths import project_root, reference_directory
from vigil.recipes.loading import Recipe, load_recipe, recipe_names
from vigil.references.diff import diff_references
from vigil.references.overview import overview, recipes_with_rows
from vigil.references.revision import Kept, default_base, is_tracked, kept_of, merge_base
from vigil.references.samples import load_samples
from vigil.references.supersede import supersede


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb, and what it can do, to the command line."""
    parser = subparsers.add_parser("reference", help="show, add, supersede and compare raw reference samples")
    parser.error = functools.partial(_explain, parser.error)
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=type(parser))
    shown = actions.add_parser("show", help="what references there are, and what judges")
    shown.add_argument("recipe", metavar="RECIPE", nargs="?", help="a name, or a recipe's path (default: all that have samples)")
    shown.add_argument("--profile", metavar="P", help="only this one (default: all)")
    options.add_json(shown)
    shown.set_defaults(run=run_show)
    reference_add.add_parser(actions)
    taken = actions.add_parser("supersede", help="take samples out of the bands, with a reason; no row is touched")
    taken.add_argument("recipe", metavar="RECIPE", help="a name in recipes/, or the path of a recipe file")
    taken.add_argument("--profile", metavar="P", required=True, help="of this profile")
    taken.add_argument("--framework", metavar="F", help="only samples of this framework")
    taken.add_argument("--release", metavar="R", help="only samples of this release")
    taken.add_argument("--reason", metavar="TEXT", required=True, help="what is wrong with them, in a sentence")
    taken.add_argument("--by", metavar="CHANGE", help="the change, issue or link that supersedes them")
    options.add_json(taken)
    taken.set_defaults(run=run_supersede)
    compared = actions.add_parser(
        "diff",
        help="what the working tree does to the references of a revision",
        epilog="exit codes: 0 nothing but appended, 1 rows or entries were edited, removed or repeated, 2 wrong usage, "
        "3 references that cannot be read",
    )
    compared.add_argument(
        "base",
        metavar="BASE",
        nargs="?",
        help="a revision; what is compared is where HEAD left it (default: the default branch, else HEAD)",
    )
    compared.add_argument("--recipe", metavar="RECIPE", help="only this one; of your own by its path, whose references git keeps")
    options.add_file(compared, "--markdown", what="write it, as for a pull request,")
    options.add_json(compared)
    compared.set_defaults(run=run_diff)


def _explain(error: Callable[[str], NoReturn], message: str) -> NoReturn:
    if "invalid choice" in message:
        raise UsageError(
            f"{message}. Measuring samples is `vigil reference add RECIPE ...`, with the options that "
            "`vigil reference RECIPE ...` had. See `vigil reference --help`."
        )
    error(message)


def run_show(arguments: argparse.Namespace) -> int:
    """Print what there is of one recipe or of all."""
    if arguments.recipe is not None:
        recipes = _named(arguments.recipe)
    else:
        recipes = dict.fromkeys(recipes_with_rows(reference_directory()))
    groups = [
        group
        for name, recipe in recipes.items()
        for group in overview(
            load_samples(reference_directory(recipe.source if recipe else None), name),
            recipe=recipe or _shipped(name),
            profile=arguments.profile,
        )
    ]
    if arguments.profile and not groups:
        raise UsageError(f"--profile: there are no samples of profile {arguments.profile!r} of {', '.join(recipes)}.")
    named = [recipe.as_asked if recipe else name for name, recipe in recipes.items()]
    show(groups, of=named, in_detail=arguments.recipe is not None)
    options.write_json(arguments, ShowAnswer(exit_code=EXIT_REPRODUCED, groups=groups))
    return EXIT_REPRODUCED


def run_supersede(arguments: argparse.Namespace) -> int:
    """Append the entry, and print what it does and how it is undone."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    if arguments.framework is not None:
        options.names("--framework", arguments.framework, FRAMEWORKS)
    path, superseded = supersede(
        reference_directory(recipe.source),
        recipe,
        profile=arguments.profile,
        reason=arguments.reason,
        framework=arguments.framework,
        release=arguments.release,
        by=arguments.by,
    )
    print("\n".join(supersede_lines(path, superseded, recipe_named=recipe.as_asked, undo=_undo(path))))
    entries, remaining = [group.entry for group in superseded], [len(group.remaining) for group in superseded]
    answer = SupersedeAnswer(exit_code=EXIT_REPRODUCED, path=str(path), entries=entries, remaining=remaining)
    options.write_json(arguments, answer)
    return EXIT_REPRODUCED


def run_diff(arguments: argparse.Namespace) -> int:
    """Print what has changed since the base, and return 1 where something was not only appended."""
    options.check_file("--markdown", arguments.markdown)
    recipe = load_recipe(arguments.recipe) if arguments.recipe is not None else None
    kept = Kept(project_root(), recipe=recipe.name if recipe else None)
    if recipe is not None and recipe.source is not None:
        kept = kept_of(recipe)
    base = merge_base(kept.root, arguments.base) if arguments.base is not None else default_base(kept.root)
    diff = diff_references(kept, base)
    options.write_file("--markdown", arguments.markdown, diff_markdown(diff))
    print("\n".join(diff_lines(diff)))
    code = EXIT_OUTSIDE if diff.problems else EXIT_REPRODUCED
    answer = DiffAnswer(
        exit_code=code,
        commit=diff.base.commit,
        base=diff.base.name,
        problems=diff.problems,
        profiles=[ChangedProfile.model_validate(each, from_attributes=True) for each in diff.profiles],
        others=diff.others,
    )
    options.write_json(arguments, answer)
    return code


def _named(name_or_path: str) -> dict[str, Recipe | None]:
    """Return the recipe that was asked for; None for one that has samples, and whose file lies elsewhere."""
    if name_or_path not in recipe_names() and name_or_path in recipes_with_rows(reference_directory()):
        return {name_or_path: None}
    recipe = load_recipe(name_or_path)
    return {recipe.name: recipe}


def _shipped(name: str) -> Recipe | None:
    return load_recipe(name) if name in recipe_names() else None


def _undo(path: Path) -> str:
    """Return what takes back all that was written there since the last commit, and lists anew what then lies there."""
    back = "git checkout --" if is_tracked(path) else "rm"
    return f"(cd {shlex.quote(str(path.parent))} && {back} {path.name} && sha256sum *.* > {LIST})"
