"""Tokens: of an app, of a user who signed in, and of one who signs each request, with two clients
that share a file.

The clients are as two processes would be. Others end tokens without telling them, tokens expire,
answers with tokens get lost, and the file is damaged.
"""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from hypothesis import strategies as st

from socialapi import AppOnly, Client, FileTokenCache, OAuth1, OAuth2User
from socialapi.emulator.ledger import RequestRecord
from socialapi.emulator.oauth.state import Code, RefreshGrant
from socialapi.emulator.state import Caller
from socialapi.errors import Forbidden, SocialApiError, Unauthorized
from socialapi.resources.oauth import code_challenge
from tests.machines.faults import TROUBLE, cancellations
from tests.machines.machine import Asked, Machine, check, hold_floor, run_machine, step, tasks_of_package
from tests.machines.worlds import Worlds

APP_TOKENS: Final = "/oauth2/token"
USER_TOKENS: Final = "/2/oauth2/token"
ANSWER_LOST: Final = ("reset_after", "truncate")
LIFETIME_SECONDS: Final = 7_200
AHEAD_SECONDS: Final = 60
PAUSE_SECONDS: Final = 60
CALLBACK: Final = "https://app.example/callback"
VERIFIER: Final = "v" * 43
SCOPES: Final = frozenset({"tweet.read", "users.read", "offline.access"})
FOR_SOME_TIME: Final = st.sampled_from(
    [20, 3_600, LIFETIME_SECONDS - 3_620, LIFETIME_SECONDS - 30, LIFETIME_SECONDS + 1]
)

either = st.integers(0, 1)
while_renewing = TROUBLE | cancellations(1_500)


class Tokens(Machine):
    """Two clients call for an app and for a user, and a third one signs its requests."""

    max_examples: ClassVar[int] = 40

    emulator_options: ClassVar[Mapping[str, Any]] = {
        "empty": True,
        "rate_limits": {"app_only_tokens": (4, 60.0), "GET /2/users/{id}/tweets": (100_000, 900.0)},
    }

    async def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tokens-"))
        self.file = self.folder / "tokens.json"
        self.user_id = self.emulator.seed["user_ids"][0]
        app = self.emulator.credentials[0]
        assert isinstance(app, AppOnly)
        self.app = app
        self.codes = 0
        self.executed: Counter[str] = Counter()
        """How often each refresh token brought another, by the digest of the request."""
        self.refused: Counter[tuple[int, str]] = Counter()
        """How often a client was refused a refresh token, by the number of the client as well."""
        self.app_tokens_ended = [0, 0]
        self.user_tokens_ended = [0, 0]
        """How many tokens others have ended since each client last succeeded."""
        self.paused_until = [0.0, 0.0]
        self.names = [0, 1]
        """The numbers of the two clients; a new one gets a new number."""
        self.grant()
        self.client, self.other = self.new_client(), self.new_client()
        self.new_signature()
        for client in (self.client, self.other, self.signing):
            await client.__aenter__()

    async def close(self) -> None:
        for client in (self.client, self.other, self.signing):
            await client.aclose()
        shutil.rmtree(self.folder)

    async def wait_for_background(self) -> None:
        """A renewal is not cancelled with the call that waits for it."""
        if renewing := {task for task in tasks_of_package() if "._renew" in repr(task.get_coro())}:
            await asyncio.wait(renewing)

    def new_client(self) -> Client:
        return self.harness.client([self.app, self.user], token_cache=FileTokenCache(self.file))

    # The service ------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        return self.emulator.state

    @property
    def outstanding(self) -> str | None:
        """The app-only token of the app."""
        token: str | None = self.state.apps[self.app.api_key].bearer_token
        return token

    def grant(self) -> None:
        """The user signs in, elsewhere: there is a pair of tokens of which nobody knows when they
        end.
        """
        self.codes += 1
        access, refresh = f"access-token-number-{self.codes}", f"refresh-token-number-{self.codes}"
        app, user = self.state.apps[self.app.api_key], self.state.users[self.user_id]
        self.state.bearers[access] = Caller(app, user, scopes=SCOPES, expires_at=self.clock.time() + LIFETIME_SECONDS)
        self.state.sign_ins.refresh_tokens.clear()
        self.state.sign_ins.refresh_tokens[refresh] = RefreshGrant(app_key=app.api_key, user_id=user.id, scopes=SCOPES)
        self.began_with(access, refresh)

    def began_with(self, access: str, refresh: str) -> None:
        self.user = OAuth2User(access, refresh, self.app.api_key, self.app.api_key_secret)
        self.is_lost = False
        """Whether the only refresh token that the service takes is one that nobody has."""

    def remember_secrets(self) -> None:
        self.harness.secrets |= {*self.state.bearers, *self.state.sign_ins.refresh_tokens, *self.state.sign_ins.codes}

    # What the file holds ----------------------------------------------------------------------------------------------

    def stored(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return list(json.loads(self.file.read_text("utf-8")).values())
        return []

    def stored_pairs(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.stored() if text.startswith("{")]

    def newest_pair(self) -> tuple[str, str]:
        """The access token and the refresh token that the clients have to use."""
        pairs = [(pair["access_token"], pair["refresh_token"]) for pair in self.stored_pairs()]
        ours = [pair for pair in pairs if pair not in self.of_before]
        assert len(ours) <= 1
        return ours[0] if ours else (self.user.access_token, self.user.refresh_token or "")

    of_before: Sequence[tuple[str, str]] = ()
    """The pairs of earlier sign-ins, which stay in the file."""

    def seconds_left(self, access: str) -> float:
        """How long the service takes the token."""
        caller = self.state.bearers.get(access)
        return caller.expires_at - self.clock.time() if caller is not None else -1.0

    # For the app ------------------------------------------------------------------------------------------------------

    @step(which=either, is_ended=st.booleans())
    async def call_for_the_app(self, which: int, is_ended: bool) -> None:
        if is_ended:
            self.end_the_outstanding_token()
        was_stored = self.outstanding is not None and self.outstanding in self.stored()
        was_paused = self.clock.monotonic() < self.paused_until[which]
        asked = await self.ask(self.read_for_the_app(which), repeatable=True)
        fetched = self.of_route(asked, APP_TOKENS)
        if asked.is_done and fetched:
            assert self.outstanding in self.stored()
        if asked.is_undisturbed:
            assert len(fetched) <= (0 if was_stored or was_paused else 1)
            self.judge_for_the_app(which, asked, was_paused=was_paused)
        self.after_call_for_the_app(which, asked)

    def judge_for_the_app(self, which: int, asked: Asked[Any], *, was_paused: bool) -> None:
        """One token that others have ended is replaced; of two, each call finds out about one."""
        if isinstance(asked.error, Forbidden):
            assert 99 in asked.error.codes
            assert was_paused or self.of_route(asked, APP_TOKENS)
        elif not asked.is_done:
            assert isinstance(asked.error, Unauthorized)
            assert asked.error.codes == (89,)
            assert self.app_tokens_ended[which] > 1

    def after_call_for_the_app(self, which: int, asked: Asked[Any]) -> None:
        if asked.is_done:
            self.app_tokens_ended[which] = 0
        if isinstance(asked.error, Forbidden) and self.of_route(asked, APP_TOKENS):
            self.paused_until[which] = self.clock.monotonic() + PAUSE_SECONDS

    @step()
    async def both_call_for_the_app(self) -> None:
        """Two processes without a token fetch one between them."""
        asked = await self.ask(gathered(self.read_for_the_app), repeatable=True)
        if asked.is_undisturbed:
            assert len(self.of_route(asked, APP_TOKENS)) <= 1 or max(self.app_tokens_ended) > 0
        for which, error in enumerate(asked.result or ()):
            self.after_call_for_the_app(which, Asked(None, error, asked.requests, repeatable=True))

    @step(which=either)
    async def end_the_token_of_the_app(self, which: int) -> None:
        before = self.outstanding
        client = self.clients[which]
        asked = await self.ask(client.oauth.invalidate_app_only_token())
        if asked.is_done:
            assert self.outstanding is None
            assert asked.value.access_token not in self.stored()
        elif asked.is_undisturbed:
            assert isinstance(asked.error, Forbidden)
            assert 99 in asked.error.codes or self.app_tokens_ended[which]
        if isinstance(asked.error, Forbidden) and 99 in asked.error.codes:
            self.after_call_for_the_app(which, asked)
        if before != self.outstanding or asked.is_done:
            self.app_tokens_ended = [count + 1 for count in self.app_tokens_ended]

    @step(trouble=None)
    def others_end_the_token_of_the_app(self) -> None:
        self.end_the_outstanding_token()

    def end_the_outstanding_token(self) -> None:
        if self.outstanding is not None:
            self.state.end_bearer(self.outstanding)
            self.app_tokens_ended = [count + 1 for count in self.app_tokens_ended]

    # For a user -------------------------------------------------------------------------------------------------------

    @step(
        trouble=while_renewing, which=either, before=st.sampled_from([None, "is ended", "is about to end", "has ended"])
    )
    async def call_for_the_user(self, which: int, before: str | None) -> None:
        if before == "is ended":
            self.end_the_newest_token()
        elif before is not None:
            left = self.seconds_left(self.newest_pair()[0])
            self.clock.advance(max(0, left - (30 if before == "is about to end" else -1)))
        access, refresh = self.newest_pair()
        left, was_lost = self.seconds_left(access), self.is_lost
        asked = await self.ask(self.read_for_the_user(which), repeatable=True)
        refreshed = self.after_call_for_the_user(asked, refresh)
        for record in refreshed:
            self.refused[self.names[which], record.body_sha256 or ""] += record.status == 400
        if asked.is_undisturbed:
            assert len(refreshed) <= (0 if left > AHEAD_SECONDS else 1)
            await self.judge_for_the_user(which, asked, is_valid=left > 0 or not was_lost)
        if asked.is_done:
            self.user_tokens_ended[which] = 0

    async def judge_for_the_user(self, which: int, asked: Asked[Any], *, is_valid: bool) -> None:
        """A call that found two tokens ended fails, and the next one does not."""
        if not asked.is_done:
            assert isinstance(asked.error, Unauthorized)
            assert self.is_lost or self.user_tokens_ended[which]
            if is_valid and not self.is_lost:
                await self.look(lambda: self.read_for_the_user(which))
        else:
            assert is_valid

    @step(trouble=while_renewing)
    async def both_call_for_the_user(self) -> None:
        """Two processes renew a token once between them."""
        _, refresh = self.newest_pair()
        asked = await self.ask(gathered(self.read_for_the_user), repeatable=True)
        refreshed = self.after_call_for_the_user(asked, refresh)
        if asked.is_undisturbed:
            assert sum(record.status == 200 for record in refreshed) <= 1
        for which, error in enumerate(asked.result or ()):
            if error is None:
                self.user_tokens_ended[which] = 0

    def after_call_for_the_user(self, asked: Asked[Any], refresh: str) -> list[RequestRecord]:
        """Notes what became of the pair. A renewal is lost with its answer, and in no other way."""
        refreshed = self.of_route(asked, USER_TOKENS)
        grants = self.state.sign_ins.refresh_tokens
        for record in refreshed:
            self.executed[record.body_sha256 or ""] += record.status == 200
        if refresh not in grants and any(record.fault in ANSWER_LOST for record in refreshed):
            self.is_lost = self.newest_pair()[1] not in grants
        return refreshed

    @step(trouble=None)
    def others_end_the_token_of_the_user(self) -> None:
        self.end_the_newest_token()

    def end_the_newest_token(self) -> None:
        access, _ = self.newest_pair()
        if self.state.bearers.pop(access, None) is not None:
            self.user_tokens_ended = [count + 1 for count in self.user_tokens_ended]

    @step(trouble=None)
    def user_withdraws(self) -> None:
        """No token of the user is taken any more."""
        self.state.sign_ins.refresh_tokens.clear()
        for token, caller in list(self.state.bearers.items()):
            if caller.user is not None:
                del self.state.bearers[token]
        self.user_tokens_ended = [count + 1 for count in self.user_tokens_ended]
        self.is_lost = True

    @step(trouble=None)
    async def user_has_signed_in_elsewhere(self) -> None:
        self.end_sign_in()
        self.grant()
        await self.start_anew()

    @step()
    async def sign_in(self) -> None:
        """A code brings tokens once; one that was not used can be used again."""
        code = self.new_code()
        asked = await self.ask(self.exchange(code))
        is_used = code not in self.state.sign_ins.codes
        if asked.is_undisturbed:
            assert asked.is_done
        if asked.executed == "no":
            assert not is_used
        if is_used and not asked.is_done:
            refused = await self.ask(self.exchange(code))
            assert isinstance(refused.error, Unauthorized)
        else:
            token = asked.value if asked.is_done else await self.look(lambda: self.exchange(code))
            assert token.refresh_token is not None
            self.end_sign_in()
            self.state.sign_ins.refresh_tokens = {
                token.refresh_token: self.state.sign_ins.refresh_tokens[token.refresh_token]
            }
            self.began_with(token.access_token, token.refresh_token)
            await self.start_anew()

    def new_code(self) -> str:
        self.codes += 1
        code = f"authorization-code-{self.codes}"
        self.state.sign_ins.codes[code] = Code(
            app_key=self.app.api_key,
            user_id=self.user_id,
            redirect_uri=CALLBACK,
            challenge=code_challenge(VERIFIER),
            scopes=SCOPES,
            expires_at=self.clock.time() + 100_000,
        )
        return code

    async def exchange(self, code: str) -> Any:
        return await self.client.oauth.exchange_code(
            code,
            client_id=self.app.api_key,
            client_secret=self.app.api_key_secret,
            redirect_uri=CALLBACK,
            code_verifier=VERIFIER,
        )

    def end_sign_in(self) -> None:
        pairs = self.stored_pairs()
        self.of_before = [(pair["access_token"], pair["refresh_token"]) for pair in pairs]

    # One who signs ----------------------------------------------------------------------------------------------------

    def new_signature(self) -> None:
        token = self.state.new_access_token(self.state.apps[self.app.api_key], self.state.users[self.user_id])
        self.harness.secrets |= {token.token, token.secret}
        credential = OAuth1(self.app.api_key, self.app.api_key_secret, token.token, token.secret)
        self.signing = self.harness.client([credential])
        self.is_signature_valid = Worlds({"valid": True})

    @step()
    async def call_with_a_signature(self) -> None:
        asked = await self.ask(self.signing.posts.by_user(self.user_id).first(), repeatable=True)
        if asked.is_undisturbed:
            self.is_signature_valid.see(lambda world: world["valid"], asked.is_done)
            assert asked.is_done or is_dead(asked.error)

    @step()
    async def end_the_token_of_the_signature(self) -> None:
        asked = await self.ask(self.signing.oauth.invalidate_token())
        if asked.is_undisturbed:
            self.is_signature_valid.see(lambda world: world["valid"], asked.is_done)
            assert asked.is_done or is_dead(asked.error)
        self.is_signature_valid.change(asked.executed, lambda world: world.update(valid=False))

    @step(trouble=None)
    async def sign_in_for_signatures(self) -> None:
        await self.signing.aclose()
        self.new_signature()
        await self.signing.__aenter__()

    # Both processes ---------------------------------------------------------------------------------------------------

    @property
    def clients(self) -> tuple[Client, Client]:
        return self.client, self.other

    async def read_for_the_app(self, which: int) -> None:
        await self.clients[which].posts.by_user(self.user_id).first()

    async def read_for_the_user(self, which: int) -> None:
        await self.clients[which].request("GET", f"/2/users/{self.user_id}/tweets", auth="user")

    async def restart(self) -> None:
        await self.restart_one(0)

    @step(trouble=None)
    async def restart_the_other(self) -> None:
        await self.restart_one(1)

    async def restart_one(self, which: int) -> None:
        await self.clients[which].aclose()
        fresh = self.new_client()
        await fresh.__aenter__()
        self.client, self.other = (fresh, self.other) if which == 0 else (self.client, fresh)
        self.names[which] = max(self.names) + 1
        self.paused_until[which] = 0.0

    async def start_anew(self) -> None:
        """Both start with another credential."""
        for client in self.clients:
            await client.aclose()
        self.client, self.other = self.new_client(), self.new_client()
        for client in self.clients:
            await client.__aenter__()
        self.names = [max(self.names) + 1, max(self.names) + 2]
        self.paused_until = [0.0, 0.0]
        self.user_tokens_ended = [0, 0]

    @step(trouble=None, seconds=FOR_SOME_TIME)
    def let_tokens_age(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @step(trouble=None, is_removed=st.booleans())
    def damage_the_file(self, is_removed: bool) -> None:
        """What can be had again is fetched again. A pair that was renewed could not be."""
        if self.newest_pair()[0] == self.user.access_token and self.file.exists():
            if is_removed:
                self.file.unlink()
            else:
                self.file.write_text('{"half of it', "utf-8")

    @staticmethod
    def of_route(asked: Asked[Any], route: str) -> list[RequestRecord]:
        return [record for record in asked.requests if record.route == route]

    # What holds always ------------------------------------------------------------------------------------------------

    @check
    def every_refresh_token_is_used_once(self) -> None:
        assert max(self.executed.values(), default=0) <= 1
        assert max(self.refused.values(), default=0) <= 1

    @check
    def the_file_holds_the_pair_that_is_taken(self) -> None:
        self.remember_secrets()
        _, refresh = self.newest_pair()
        assert self.is_lost or refresh in self.state.sign_ins.refresh_tokens

    @check
    def the_file_is_private(self) -> None:
        if self.file.exists():
            assert self.file.stat().st_mode & 0o077 == 0
            assert {each.name for each in self.folder.iterdir() if not each.name.endswith(".lock")} == {"tokens.json"}


async def gathered(read: Callable[[int], Awaitable[None]]) -> list[BaseException | None]:
    """What became of a call of each client, both at once."""
    results = await asyncio.gather(read(0), read(1), return_exceptions=True)
    assert all(error is None or isinstance(error, SocialApiError) for error in results)
    return list(results)


def is_dead(error: BaseException | None) -> bool:
    return isinstance(error, Unauthorized) and error.codes == (89,)


def test_tokens_are_renewed_once_and_never_lost_but_with_an_answer() -> None:
    counts = run_machine(Tokens)
    hold_floor(counts.faults.total(), 40, "faults")
