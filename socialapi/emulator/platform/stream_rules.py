"""Handlers for filtered-stream and powerstream rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

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
    drafts = call.body["add"]
    adding = _Adding(call, dict(_rules(call)))
    for draft in drafts:
        adding.take(draft["value"], draft.get("tag"))
    if not dry_run:
        call.state.platform.rules[call.caller.app.api_key] = adding.rules
    created = len(adding.created)
    summary = {
        "created": created,
        "not_created": len(drafts) - created,
        "valid": len(drafts) - adding.invalid,
        "invalid": adding.invalid,
    }
    return _changed(
        call, [_shown(rule) for rule in adding.created], summary, adding.errors, 201 if created and not dry_run else 200
    )


@serves(routes.POWERSTREAM_RULES)
async def list_powerstream_rules(call: Call) -> Answer:
    """Returns the rules of the dedicated stream instance, which are configured elsewhere."""
    shown, meta = paginate_items(call, call.state.platform.powerstream_rules, dict)
    return data(shown, meta=meta)


@attrs.define
class _Adding:
    """The app's rules, including those accepted so far, and the problems of rejected rules."""

    call: Call
    rules: dict[int, Rule]
    created: list[Rule] = attrs.field(factory=list)
    errors: list[Shown] = attrs.field(factory=list)
    invalid: int = 0
    _by_value: dict[str, Rule] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._by_value = {rule.value: rule for rule in self.rules.values()}

    def take(self, value: str, tag: str | None) -> None:
        """Adds the rule, or records why it cannot be added."""
        same = self._by_value.get(value)
        most = self.call.state.platform.max_rules
        if (fault := fault_of(value)) is not None:
            self.invalid += 1
            self._refuse("invalid-rules", "Invalid Rule", f"{fault}: {value[:100]}")
        elif same is not None:
            self._refuse("duplicate-rules", "Duplicate Rule", "this rule already exists", id=same.id, value=value)
        elif len(self.rules) >= most:
            self._refuse("rule-cap", "Rule Cap Exceeded", f"the project has {most:,} rules, which is the maximum")
        else:
            key = self.call.state.platform.new_id(self.call.now)
            rule = Rule(id=str(key), value=value, tag=tag, matches=matcher_of(value))
            self.rules[key] = self._by_value[value] = rule
            self.created.append(rule)

    def _refuse(self, slug: str, title: str, detail: str, **extra: str) -> None:
        self.errors.append(problem(self.call.state.problem_base_url, slug, title, detail, **extra))


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
