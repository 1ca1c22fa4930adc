"""Exec plugins: programs that print an ``ExecCredential`` (KEP-541).

Like in client-go, concurrent callers share a run of the plugin, and a 401 causes one new run. In addition, a run has a
timeout, and its failure is raised rather than only logged. A token or certificate is renewed shortly before it expires,
but not earlier than in the last tenth of its lifetime: otherwise a token with a lifetime of five minutes would cause a
run per request.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import trio

from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.config._credentials import Combined, Credential, Credentials, CredentialTimeout, utc_now
from dynkube.config._exec_answer import ExecAnswer, parse_answer, printed_texts
from dynkube.config._exec_process import ProcessOutcome, run_bounded
from dynkube.config._redact import redacted, secrets_among
from dynkube.errors import ConfigError, CredentialError

logger = get_logger("dynkube.config")

_TIMEOUT = 60.0
_INTERACTIVE_TIMEOUT = 300.0  # interactive logins may need a second device
_MARGIN = timedelta(minutes=1)
_MARGIN_SHARE = 10  # the margin is also at most a tenth of the lifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecCommand:
    """The ``exec`` section of a kubeconfig user.

    Attributes:
        command: a name that is looked up on PATH, or an absolute path.
        args: its arguments.
        env: additional environment variables.
        api_version: ``client.authentication.k8s.io/v1`` or ``v1beta1``; the output must have the same version.
        interactive_mode: ``Never``, ``IfAvailable`` or ``Always``.
        install_hint: shown if the command is not found.
        cluster: ``spec.cluster`` for the plugin, if ``provideClusterInfo`` is true.
        where: the path in the configuration, for error messages.
    """

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)  # may contain secrets
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    cluster: Mapping[str, object] | None = field(default=None, repr=False)
    where: str = "exec"

    def __post_init__(self) -> None:
        for name, texts in (("command", [self.command]), ("args", self.args), ("env", [*self.env, *self.env.values()])):
            if any("\0" in text for text in texts):
                raise ConfigError(f"{self.where}: {name} contains a NUL character, which is not allowed: remove it")


class ExecPlugin:
    """Credentials from an exec plugin.

    Args:
        command: the command to run.
        timeout: seconds a run may take; ``None`` means 60, or 300 if it may prompt at a terminal.
        now: the clock that expiry is compared with.
    """

    def __init__(
        self, command: ExecCommand, *, timeout: float | None = None, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._command = command
        self._timeout = timeout
        self._now = now
        self._lock = trio.Lock()
        self._secrets = secrets_among(command.args, command.env)  # a failing plugin may print its arguments
        self._held: Credential | None = None
        self._expires_at: datetime | None = None
        self._renew_at: datetime | None = None
        self._ended = 0  # completed runs, successful or not
        self._failure: CredentialError | None = None  # the error of the last run, if it failed
        self.calls: Counter[tuple[int, str]] = Counter()
        """The number of runs, by exit code and result as in client-go (``no_error``, ...)."""

    async def current(self) -> Credential:
        """Return the current credential; if it is about to expire, run the plugin first.

        If that run fails and the old credential has not expired yet, a warning is logged and the old credential is
        returned.

        Raises:
            CredentialError: the plugin is missing, failed, timed out or printed no credential.
        """
        held = self._held
        if held is not None and not self._due():
            await trio.lowlevel.checkpoint()
            return held
        try:
            return await self._renew()
        except CredentialError as error:
            if held is None or self._expires_at is None or self._expires_at <= self._now():
                raise
            logger.warning("%s; continuing with the credential that expires at %s", error, self._expires_at.isoformat())
            self._renew_at = self._expires_at
            return held

    @property
    def credential_timeout(self) -> CredentialTimeout:
        """The timeout of a run, and whether it may prompt at a terminal."""
        interactive = self._command.interactive_mode != "Never" and _terminal()
        return CredentialTimeout(self._seconds(interactive), interactive)

    async def refresh(self, rejected: Credential) -> Credential:
        """Run the plugin, unless it ran since ``rejected`` was returned.

        Raises:
            CredentialError: the plugin is missing, failed, timed out or printed no credential.
        """
        if self._held is not None and self._held is not rejected and not self._due():
            await trio.lowlevel.checkpoint()
            return self._held
        return await self._renew()

    def __repr__(self) -> str:
        return f"ExecPlugin({self._command.command!r})"

    def __str__(self) -> str:
        return (
            f"plugin {self._command.command!r} ({self._command.where}); if it requires a login, log in manually first"
        )

    def _due(self) -> bool:
        return self._renew_at is not None and self._now() >= self._renew_at

    async def _renew(self) -> Credential:
        """Return the result of a run that ends after this call.

        Concurrent callers share a run.
        """
        ended = self._ended
        async with self._lock:
            if self._ended == ended:
                await self._run_and_hold()  # if cancelled, nothing is counted, and the next waiter runs it
        if self._failure is not None:
            raise CredentialError(str(self._failure)) from self._failure
        assert self._held is not None
        return self._held

    async def _run_and_hold(self) -> None:
        try:
            answer = await self._run()
        except CredentialError as error:
            self._failure = error
        else:
            self._failure = None
            self._hold(answer)
        self._ended += 1

    def _hold(self, answer: ExecAnswer) -> None:
        # If the credential is equal, keep the object: callers of refresh() compare by identity.
        if answer.credential != self._held:
            self._held = answer.credential
        self._expires_at = answer.expires_at
        self._renew_at = None
        if answer.expires_at is not None:
            lifetime = answer.expires_at - self._now()
            self._renew_at = answer.expires_at - min(_MARGIN, lifetime / _MARGIN_SHARE)

    async def _run(self) -> ExecAnswer:
        command = self._command
        executable = shutil.which(command.command)
        if executable is None:
            self.calls[1, "plugin_not_found_error"] += 1
            raise self._error("was not found or is not executable: install it or correct the path")
        if not os.path.isabs(executable):  # noqa: PTH117 - found in ".", which is in PATH, or searched first by Windows
            raise self._error("was found only in the working directory, which is not trusted: specify its path")
        interactive = self._interactive()
        secrets = (*self._secrets, *_secrets_of(self._held))
        timeout = self._seconds(interactive)
        outcome = await run_bounded(
            [executable, *command.args],
            env={**os.environ, **command.env, "KUBERNETES_EXEC_INFO": self._exec_info(interactive)},
            timeout=timeout,
            interactive=interactive,
            redact=partial(_without, secrets),
        )
        if complaint := _complaint(outcome, timeout):
            self.calls[_status(outcome)] += 1
            raise self._error(complaint, outcome)
        try:
            answer = parse_answer(bytes(outcome.stdout), api_version=command.api_version, now=self._now())
            self.calls[0, "no_error"] += 1
            return answer
        except ValueError as error:
            self.calls[1, "client_internal_error"] += 1
            raise self._error(str(error), outcome) from error

    def _interactive(self) -> bool:
        if self._command.interactive_mode == "Never":
            return False
        terminal = _terminal()
        if self._command.interactive_mode == "Always" and not terminal:
            raise self._error("requires a terminal (interactiveMode: Always); stdin is not a TTY")
        return terminal

    def _seconds(self, interactive: bool) -> float:
        return self._timeout or (_INTERACTIVE_TIMEOUT if interactive else _TIMEOUT)

    def _exec_info(self, interactive: bool) -> str:
        spec: dict[str, object] = {"interactive": interactive}
        if self._command.cluster is not None:
            spec["cluster"] = self._command.cluster
        info = {"apiVersion": self._command.api_version, "kind": "ExecCredential", "spec": spec}
        try:
            return json.dumps(info, default=str)  # YAML extensions may contain dates, which JSON lacks
        except (ValueError, TypeError, RecursionError) as error:  # YAML aliases can be cyclic
            raise self._error(
                "cannot receive the cluster info: the cluster's exec extension cannot be encoded as JSON"
            ) from error

    def _error(self, complaint: str, outcome: ProcessOutcome | None = None) -> CredentialError:
        message = f"{self._command.where}: plugin {self._command.command!r} {complaint}"
        secrets = (*self._secrets, *_secrets_of(self._held))
        if outcome is not None and (output := outcome.last_output(lambda text: _without(secrets, text, outcome))):
            message += "\nlast output:\n  " + output.replace("\n", "\n  ")
        hint = "\n".join(sanitized(line) for line in self._command.install_hint.strip().splitlines())
        if hint and (outcome is None or outcome.start_error is not None):
            message += f"\n{hint}"
        return CredentialError(message)


def _secrets_of(held: Credential | None) -> Iterable[str]:
    return () if held is None else (value.split()[-1] for value in held.headers.values())


def _without(secrets: tuple[str, ...], text: str, outcome: ProcessOutcome) -> str:
    return redacted(text, (*secrets, *printed_texts(bytes(outcome.stdout))))


def _terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # closed
        return False


def plugin_calls(credentials: Credentials) -> Mapping[tuple[int, str], int]:
    """Return the runs of the plugins in ``credentials``, by exit code and result."""
    if isinstance(credentials, ExecPlugin):
        return dict(credentials.calls)
    calls: Counter[tuple[int, str]] = Counter()
    if isinstance(credentials, Combined):
        for source in credentials.sources:
            calls.update(plugin_calls(source))
    return dict(calls)


def _status(outcome: ProcessOutcome) -> tuple[int, str]:
    if outcome.start_error is not None:
        return 1, "plugin_not_found_error"
    return outcome.returncode or 1, "plugin_execution_error"


def _complaint(outcome: ProcessOutcome, timeout: float) -> str:
    if outcome.start_error is not None:
        return f"failed to start: {getattr(outcome.start_error, 'strerror', None) or outcome.start_error}"
    if outcome.timed_out:
        return f"timed out after {timeout:g} s and was stopped: log in manually first, or raise exec_timeout="
    if outcome.too_long:
        return "printed more output than a credential can have and was stopped"
    if outcome.returncode:
        how = f"exit code {outcome.returncode}" if outcome.returncode > 0 else f"signal {-outcome.returncode}"
        return f"failed with {how}"
    return ""
