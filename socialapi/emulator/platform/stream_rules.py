"""Handlers for filtered-stream and powerstream rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import paginate_items
from socialapi.emulator.platform.rule_matching import fault_of, matcher_of
from socialapi.emulator.platform.state import Rule
from socialapi.emulator.request import split
from socialapi.emulator.responses import Answer, answer, data, not_found_problem, problem
from socialapi.routes import platform as routes

Shown = dict[str, Any]


@serves(routes.STREAM_RULES)
async def list_rules(call: Call) -> Answer:
    """Returns the app's rules, or only the rules with the given ids."""
    rules = _rules(call)
    errors: list[Shown] = []
    if "ids" in call.query:
        wanted = split(call.query["ids"])
        errors = [_unknown(call, rule_id) for rule_id in wanted if _key(rule_id) not in rules]
        rules = {key: rule for key, rule in rules.items() if rule.id in wanted}
    shown, meta = paginate_items(call, rules, _shown)
    return data(shown, meta={"sent": milliseconds(call.now), **meta}, errors=errors)


@serves(routes.STREAM_RULES_CHANGE)
async def change_rules(call: Call) -> Answer:
    """Adds or deletes rules. A dry run checks everything, but changes nothing.

    The status is 201 if a rule was created, and 200 otherwise. If nothing was created, the response has `errors`
    without `data`.
    """
    dry_run = call.query.get("dry_run", False)
    if "delete" in call.body:
        return _delete(call, call.body["delete"], dry_run=dry_run)
    return _add(call, call.body["add"], dry_run=dry_run)


@serves(routes.POWERSTREAM_RULES)
async def list_powerstream_rules(call: Call) -> Answer:
    """Returns the rules of the dedicated stream instance, which are configured elsewhere."""
    shown, meta = paginate_items(call, call.state.platform.powerstream_rules, dict)
    return data(shown, meta=meta)


def _add(call: Call, drafts: Sequence[Mapping[str, Any]], *, dry_run: bool) -> Answer:
    platform, base, rules = call.state.platform, call.state.problem_base_url, dict(_rules(call))
    by_value = {rule.value: rule for rule in rules.values()}
    created: list[Rule] = []
    errors: list[Shown] = []
    invalid = 0
    for draft in drafts:
        value = draft["value"]
        same = by_value.get(value)
        if (fault := fault_of(value)) is not None:
            invalid += 1
            errors.append(problem(base, "invalid-rules", "Invalid Rule", f"{fault}: {value[:100]}"))
        elif same is not None:
            about = {"id": same.id, "value": value}
            errors.append(problem(base, "duplicate-rules", "Duplicate Rule", "this rule already exists", **about))
        elif len(rules) >= platform.max_rules:
            detail = f"the project has {platform.max_rules:,} rules, which is the maximum"
            errors.append(problem(base, "rule-cap", "Rule Cap Exceeded", detail))
        else:
            key = platform.new_id(call.now)
            rule = Rule(id=str(key), value=value, tag=draft.get("tag"), matches=matcher_of(value))
            rules[key] = by_value[value] = rule
            created.append(rule)
    if not dry_run:
        platform.rules[call.caller.app.api_key] = rules
    summary = {
        "created": len(created),
        "not_created": len(drafts) - len(created),
        "valid": len(drafts) - invalid,
        "invalid": invalid,
    }
    return _changed(call, list(map(_shown, created)), summary, errors, 201 if created and not dry_run else 200)


def _delete(call: Call, wanted: Mapping[str, Sequence[str]], *, dry_run: bool) -> Answer:
    rules = _rules(call)
    by_value = {rule.value: key for key, rule in rules.items()}
    found = {("ids", rule_id): _key(rule_id) for rule_id in wanted.get("ids", ())}
    found |= {("values", value): by_value.get(value, -1) for value in wanted.get("values", ())}
    gone = rules.keys() & found.values()
    errors = [_unknown(call, given, parameter) for (parameter, given), key in found.items() if key not in rules]
    if not dry_run:
        kept = {key: rule for key, rule in rules.items() if key not in gone}
        call.state.platform.rules[call.caller.app.api_key] = kept
    return _changed(call, [], {"deleted": len(gone), "not_deleted": len(errors)}, errors, 200)


def _changed(call: Call, shown: list[Shown], summary: Mapping[str, int], errors: list[Shown], status: int) -> Answer:
    meta = {"sent": milliseconds(call.now), "summary": summary}
    succeeded = summary.get("created") or summary.get("deleted")
    if errors and not succeeded:
        return answer({"meta": meta, "errors": errors}, status)
    return data(shown, status, meta=meta, errors=errors)


def _rules(call: Call) -> Mapping[int, Rule]:
    return call.state.platform.rules.get(call.caller.app.api_key, {})


def _key(rule_id: str) -> int:
    """Returns a rule id as a number, or -1 if no rule can have this id."""
    return int(rule_id) if rule_id.isascii() and rule_id.isdigit() and len(rule_id) < 20 else -1


def _unknown(call: Call, given: str, parameter: str = "ids") -> Shown:
    return not_found_problem(call.state.problem_base_url, "rule", parameter, given)


def _shown(rule: Rule) -> Shown:
    return {"id": rule.id, "value": rule.value} | ({} if rule.tag is None else {"tag": rule.tag})
