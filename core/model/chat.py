"""A model's chat template: Jinja source from a stranger, rendered in a sandbox."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import UserError


class ChatTemplate:
    """Turns messages into the text that the model was trained to continue."""

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        self.source, self.special_tokens = source, dict(special_tokens)

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The text up to where the model's answer starts.

        Raises:
            UserError: the template is broken or refuses these messages.
        """
        from jinja2.exceptions import TemplateError

        try:
            template = self._compile()
            text = str(template.render(messages=messages, add_generation_prompt=True, **self.special_tokens))
            text.encode()  # a half character, which is a ValueError here, is more than a tokenizer bears
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise UserError(
                f"The model's chat template cannot be used ({error}); switch the chat template off."
            ) from error
        return text

    def _compile(self) -> Any:
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
        return environment.from_string(self.source)


def _to_json(value: Any, indent: int | None = None, **options: Any) -> str:
    """Plain JSON; Jinja's own filter would escape it for HTML."""
    return json.dumps(value, ensure_ascii=options.get("ensure_ascii", False), indent=indent)


def _refuse(message: str) -> None:
    from jinja2.exceptions import TemplateError

    raise TemplateError(message)
