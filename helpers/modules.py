"""The same weights under other classes: a model in which the attention or the block is somebody else's."""

import copy
from functools import cache

from .model import Block, CausalAttention


@cache
def combine(base, *classes):
    """One class that overrides what each of `classes` does; faults of the plain cache come before those of a special one."""
    if not classes:
        return base
    if len(classes) == 1 and issubclass(classes[0], base):
        return classes[0]
    return type("Combined", (*sorted(classes, key=lambda c: len(c.__mro__)), base), {})


def with_modules(model, attention, block):
    """`model` with other attention or block classes and the very same parameters; `model` itself where none is given."""
    if not attention and not block:
        return model
    twin = shallow(model)
    twin.blocks = shallow(model.blocks)
    for i, layer in enumerate(model.blocks):
        twin.blocks[i] = shallow(layer, combine(Block, *block))
        twin.blocks[i].attention = shallow(layer.attention, combine(CausalAttention, *attention))
    return twin


def shallow(module, cls=None):
    """A module of its own (of class `cls`) over the same parameters and the same submodules."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    twin.__class__ = cls or type(module)
    return twin
