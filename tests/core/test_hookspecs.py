"""The hooks are declared once, and each plugin's implementations are held against the declarations."""

from __future__ import annotations

import inspect
import types

import attrs
import pytest
from nr_llm import hookspecs
from nr_llm.hookspecs import PROJECT, hookimpl, implementations
from nr_llm.plugins import MisbuiltError

from tests.support import ROOT

HOOKS = [name for name in vars(hookspecs) if name.startswith("nr_llm_")]


@attrs.frozen
class Settings:
    """Settings of a plugin."""

    rows: int = 5


class TestDeclarations:
    def test_names(self):
        """Hooks are named after the project and what they return."""
        assert HOOKS == [
            "nr_llm_tools",
            "nr_llm_providers",
            "nr_llm_make_provider",
            "nr_llm_provider_tables",
            "nr_llm_configurations",
            "nr_llm_stores",
            "nr_llm_observers",
            "nr_llm_commands",
        ]
        assert PROJECT == "nr_llm"

    @pytest.mark.parametrize("hook", HOOKS)
    def test_said(self, hook: str):
        """Each says when it is called, what nothing means, whether it may raise, and its types."""
        function = getattr(hookspecs, hook)
        text = inspect.getdoc(function) or ""

        assert "Called once" in text
        assert "Returning nothing" in text
        assert "may raise" in text
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty

    @pytest.mark.parametrize("hook", HOOKS)
    def test_documented(self, hook: str):
        """The reference page has each hook with its arguments."""
        arguments = ", ".join(inspect.signature(getattr(hookspecs, hook)).parameters)

        assert f"`{hook}({arguments})`" in (ROOT / "docs/reference/hooks.md").read_text("utf-8")


class TestImplementations:
    def test_object(self):
        """Methods of an object are found, with the class their settings have."""

        class Plugin:
            @hookimpl
            def nr_llm_tools(self, settings: Settings):
                return [settings.rows]

            @hookimpl
            def nr_llm_providers(self):
                return ["p"]

        found = {one.hook: one for one in implementations(Plugin())}

        assert found["nr_llm_tools"].settings is Settings
        assert found["nr_llm_tools"].function(settings=Settings(7)) == [7]
        assert found["nr_llm_providers"].settings is None
        assert found["nr_llm_providers"].function() == ["p"]

    def test_module(self):
        """Functions of a module are found; what is not named like a hook is the module's own affair."""
        module = types.ModuleType("m")
        module.nr_llm_tools = hookimpl(lambda: ["t"])
        module.nr_llm_note = "a text"
        module.helper = lambda: None

        assert [one.function() for one in implementations(module)] == [["t"]]

    def test_static(self):
        """Static methods count, whichever mark stands above the other."""

        class Plugin:
            @staticmethod
            @hookimpl
            def nr_llm_tools():
                return ["t"]

        assert [one.function() for one in implementations(Plugin())] == [["t"]]

    def test_newer_hook(self):
        """A hook of newer hosts is passed over when it is marked as optional."""

        class Plugin:
            @hookimpl(optionalhook=True)
            def nr_llm_futures(self):
                return []

        assert implementations(Plugin()) == ()

    def test_other_name(self):
        """A function of another name may implement a hook by naming it."""
        module = types.ModuleType("m")
        module.mine = hookimpl(specname="nr_llm_tools")(lambda: ["t"])

        assert [one.hook for one in implementations(module)] == ["nr_llm_tools"]

    def test_equal_objects(self):
        """An object whose comparison raises is a plugin all the same."""

        class Plugin:
            __hash__ = None

            def __eq__(self, other: object):
                raise RuntimeError

            @hookimpl
            def nr_llm_tools(self):
                return []

        assert [one.hook for one in implementations(Plugin())] == ["nr_llm_tools"]

    def test_properties_stay_untouched(self):
        """Looking for hooks evaluates no property."""

        class Plugin:
            @property
            def nr_llm_trap(self):
                raise RuntimeError

        assert implementations(Plugin()) == ()


def refused() -> dict[str, object]:
    """Return plugins that are not built as they have to be, by what the refusal says."""
    given = Settings()

    class Mistyped:
        @hookimpl
        def nr_llm_tolls(self):
            return []

    class Unlike:
        @hookimpl
        def zzz(self):
            return []

    class Unmarked:
        def nr_llm_tools(self):
            return []

    class UnmarkedAndMistyped:
        def nr_llm_provider(self):
            return []

    class Argument:
        @hookimpl
        def nr_llm_tools(self, setings):
            return []

    class Coroutine:
        @hookimpl
        async def nr_llm_tools(self):
            return []

    class AsyncGenerator:
        @hookimpl
        async def nr_llm_tools(self):
            yield

    class Wrapper:
        @hookimpl(wrapper=True)
        def nr_llm_tools(self):
            return (yield)

    class Default:
        @hookimpl
        def nr_llm_tools(self, settings: Settings = given):
            return []

    class Unannotated:
        @hookimpl
        def nr_llm_tools(self, settings):
            return []

    class NoClass:
        @hookimpl
        def nr_llm_tools(self, settings: dict):
            return []

    class Postponed:
        @hookimpl
        def nr_llm_tools(self, settings: Nowhere):  # noqa: F821
            return []

    class Nameless:
        @hookimpl
        def nr_llm_make_provider(self, settings: Settings):
            return None

    return {
        "nr_llm_make_provider takes a name and settings": Nameless(),
        "there is no hook nr_llm_tolls: did you mean nr_llm_tools?": Mistyped(),
        "there is no hook zzz: there are nr_llm_commands, nr_llm_configurations, nr_llm_make_provider, ": Unlike(),
        "nr_llm_tools is not marked: put @hookimpl above it": Unmarked(),
        "there is no hook nr_llm_provider: did you mean nr_llm_providers?": UnmarkedAndMistyped(),
        "a hook takes settings or nothing": Argument(),
        "nr_llm_tools is async: hooks are synchronous": Coroutine(),
        "is async": AsyncGenerator(),
        "is a wrapper": Wrapper(),
        "gives settings a default": Default(),
        "annotate settings with the plugin's attrs class": Unannotated(),
        "as in `settings: MySettings`": NoClass(),
        "has to exist at run time: name 'Nowhere'": Postponed(),
    }


class TestRefused:
    @pytest.mark.lesson(156)
    @pytest.mark.parametrize("why", refused())
    def test_refused(self, why: str):
        """The refusal says what to change."""
        with pytest.raises(MisbuiltError) as caught:
            implementations(refused()[why])

        assert why in str(caught.value)
