"""No sequence of calls, in one thread or in several, leaves a registry half changed."""

import math
import threading

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dynreg_core import Registry, _metadata
from dynreg_core._policy import Policy
from dynreg_core._types import EntryPoint
from dynreg_core.errors import DuplicateBackendError, UnknownBackendError


def _function(number):
    def backend(gm, example_inputs):
        return gm

    backend.__name__ = f"backend{number}"
    return backend


FUNCTIONS = [_function(number) for number in range(4)]
FREE = ["a", "b", "c"]
PLUGINS = {"plug": math.sqrt, "late": math.hypot}
TORCH = {"eager": FUNCTIONS[0], "inductor": FUNCTIONS[1]}

names = st.sampled_from([*FREE, *PLUGINS, *TORCH])
functions = st.sampled_from(FUNCTIONS)
tags = st.sampled_from([(), ("debug",), ("x", "y")])


class Torch:
    """A stand-in for torch."""

    def version(self):
        return "2.13.0"

    def names(self):
        return {"eager": ("debug",), "inductor": ()}

    def unknown(self, error):
        return error

    def load(self, name):
        return TORCH[name]


class RegistryMachine(RuleBasedStateMachine):
    """The registry beside a model: two dicts and a stack of what open blocks have to undo."""

    def __init__(self):
        super().__init__()
        self.installed = ["plug"]
        self.fail = False
        self.seen = None
        self.registry = Registry(
            entry_points=self.entry_points, policy=Policy, torch=Torch(), observer=self.observer
        )
        self.known = ["plug"]  # what the registry has looked at
        self.registrations = {}  # name: (function, tags, alias_of)
        self.defaults = {}
        self.blocks = []  # (context, registrations before, defaults before)

    def entry_points(self):
        return [
            EntryPoint(name, f"math:{PLUGINS[name].__name__}", _metadata.BACKENDS, "plugins", "1")
            for name in self.installed
        ]

    def observer(self, before, after):
        if self.fail:
            raise OSError("the observer fails")
        assert self.seen is None or before is self.seen
        self.seen = after

    # --- the model -----------------------------------------------------------------------------

    def put(self, name, value):
        """Change the model as a call in this thread does."""
        if self.registrations.get(name) == value:
            return
        if self.blocks:
            self.blocks[-1][1].setdefault(name, self.registrations.get(name))
        self.put_back(name, value)

    def put_back(self, name, value):
        if value is None:
            self.registrations.pop(name, None)
        else:
            self.registrations[name] = value

    def expected(self, name, depth=0):
        """The function that a name stands for, or None."""
        if depth > 10:
            return None
        function, _, alias_of = self.registrations.get(name, (None, (), ""))
        if alias_of:
            return self.expected(alias_of, depth + 1)
        if function is not None:
            return function
        if name in TORCH:
            return TORCH[name]
        return PLUGINS[name] if name in self.known else None

    def circular(self, alias, target):
        while target:
            if target == alias:
                return True
            target = self.registrations.get(target, (None, (), ""))[2]
        return False

    # --- what calls do -------------------------------------------------------------------------

    @rule(name=names, function=functions, tags=tags, replace=st.booleans())
    def register(self, name, function, tags, replace):
        held = self.registrations.get(name)
        free = held is None and name not in TORCH
        again = held is not None and held[0] is function and tags in {(), held[1]}
        if free or again or replace:
            self.registry.register_backend(function, name, tags, replace=replace)
            if not again:
                self.put(name, (function, tags, ""))
        else:
            with pytest.raises(DuplicateBackendError):
                self.registry.register_backend(function, name, tags)

    @rule(name=names)
    def unregister(self, name):
        if name in self.registrations:
            self.registry.unregister_backend(name)
            self.put(name, None)
        else:
            with pytest.raises(UnknownBackendError):
                self.registry.unregister_backend(name)

    @rule(alias=st.sampled_from(FREE), name=names, replace=st.booleans())
    def alias(self, alias, name, replace):
        self.look_again_for(name)
        held = self.registrations.get(alias)
        exists = name in self.registrations or name in TORCH or name in self.known
        if not exists or self.circular(alias, name):
            with pytest.raises(UnknownBackendError):
                self.registry.register_alias(alias, name, replace=replace)
        elif held in {None, (None, (), name)} or replace:
            self.registry.register_alias(alias, name, replace=replace)
            self.put(alias, (None, (), name))
        else:
            with pytest.raises(DuplicateBackendError):
                self.registry.register_alias(alias, name)

    @rule(device=st.sampled_from(["", "cpu", "cuda"]), name=st.sampled_from(["eager", None]))
    def set_default(self, device, name):
        self.registry.set_default_backend(name, device=device or None)
        if self.blocks:
            self.blocks[-1][2].setdefault(device, self.defaults.get(device))
        self.defaults.pop(device, None)
        if name is not None:
            self.defaults[device] = name

    @rule()
    def install(self):
        self.installed = ["plug", "late"]

    @rule()
    def uninstall(self):
        self.installed = ["plug"]

    @rule()
    def refresh(self):
        assert self.registry.refresh() is (self.installed != self.known or not self.looked)
        self.known = list(self.installed)

    @property
    def looked(self):
        return self.registry._lookup._environment.latest is not None

    def look_again_for(self, name):
        """What a lookup that is about to fail does."""
        if self.expected(name) is None and name not in self.registrations:
            self.known = list(self.installed)

    @rule(name=names)
    def look_up(self, name):
        self.look_again_for(name)
        expected = self.expected(name)
        if expected is None:
            with pytest.raises(UnknownBackendError):
                self.registry.lookup_backend(name)
        else:
            assert self.registry.lookup_backend(name) is expected

    # --- blocks --------------------------------------------------------------------------------

    @precondition(lambda self: len(self.blocks) < 3)
    @rule()
    def enter(self):
        context = self.registry.using()
        context.__enter__()
        self.blocks.append((context, {}, {}))

    @precondition(lambda self: self.blocks)
    @rule()
    def leave(self):
        context, registrations, defaults = self.blocks.pop()
        context.__exit__(None, None, None)
        for name, value in registrations.items():
            self.put_back(name, value)
        for device, default in defaults.items():
            self.defaults.pop(device, None)
            if default is not None:
                self.defaults[device] = default

    # --- failures and threads ------------------------------------------------------------------

    @rule(name=names, function=functions)
    def a_change_whose_observer_fails(self, name, function):
        before = self.registry.state
        if self.registrations.get(name, (None,))[0] is function:
            return
        self.fail = True
        with pytest.raises(OSError, match="observer fails"):
            self.registry.register_backend(function, name, ("z",), replace=True)
        self.fail = False
        assert self.registry.state is before

    @rule(name=st.sampled_from(FREE), count=st.integers(2, 4))
    def threads_register_one_name(self, name, count):
        barrier = threading.Barrier(count)
        winners, losers = [], []

        def register(function):
            barrier.wait()
            try:
                self.registry.register_backend(function, name)
            except DuplicateBackendError:
                losers.append(function)
            else:
                winners.append(function)

        threads = [
            threading.Thread(target=register, args=(function,)) for function in FUNCTIONS[:count]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = self.registrations.get(name)
        if held is None:
            assert len(winners) == 1
            # Another thread's change is none that a block of this one undoes.
            self.registrations[name] = (winners[0], (), "")
        else:
            assert winners == [function for function in FUNCTIONS[:count] if function is held[0]]
        assert len(winners) + len(losers) == count

    @rule(name=st.sampled_from(FREE))
    def threads_look_up_while_the_name_changes(self, name):
        if name in self.registrations:
            return
        odd = []
        stop = threading.Event()

        def read():
            while not stop.is_set():
                try:
                    found = self.registry.lookup_backend(name)
                except UnknownBackendError:
                    continue
                if found is not FUNCTIONS[2]:
                    odd.append(found)

        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(5):
            self.registry.register_backend(FUNCTIONS[2], name)
            self.registry.unregister_backend(name)
        stop.set()
        reader.join()
        assert odd == []
        if self.blocks:
            self.blocks[-1][1].setdefault(name, None)
        self.known = list(self.installed)  # the reader's failing lookups may have looked again
        self.registry.refresh()

    # --- always --------------------------------------------------------------------------------

    @invariant()
    def the_state_is_the_model(self):
        state = self.registry.state
        assert {
            name: (entry.compiler_fn, entry.tags, entry.alias_of)
            for name, entry in state.registrations.items()
        } == self.registrations
        assert state.defaults == self.defaults
        assert self.seen is None or self.seen is state

    @invariant()
    def defaults_are_those_of_the_model(self):
        for device in ("", "cpu", "cuda"):
            wanted = self.defaults.get(device) or self.defaults.get("") or "inductor"
            assert self.registry.get_default_backend(device or None) == wanted

    @invariant()
    def names_are_those_of_the_model(self):
        listed = set(self.registry.list_backends(None))
        assert listed == {*self.registrations, *TORCH, *self.known}
        for name in listed:
            own = self.registrations.get(name)
            hidden = ("debug",) in ((own[1],) if own else (() if name != "eager" else ("debug",),))
            assert (name in self.registry.list_backends()) is not hidden


TestRegistry = RegistryMachine.TestCase
TestRegistry.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
