"""Controls are right: they differ from the oracle by rounding, by as much as their storage or kernel explains."""

import pytest
import torch

from helpers.decoding import Oracle
from helpers.faults import CATALOGUE
from helpers.faults.controls import CONTROLS, control
from helpers.faults.paired import Paired
from helpers.faults.scenarios import plain, random_prompt, run_scenario
from tests.wide import wide

# name -> (least, most): the largest difference at every step, float32 weights, logits up to about 20
STORED = {"cache in bfloat16": (1e-3, 4e-2), "cache in float16": (1e-4, 8e-3), "cache in int8": (4e-3, 1e-1)}
ARITHMETIC = {"chunked prefill": (0, 2e-5), "explicit attention": (1e-8, 2e-5), "float64": (1e-8, 2e-5)}


def differences(model, name):
    pair = Paired(control(model, name), Oracle(model))
    plain(pair, random_prompt(model), 6, None)
    assert all(step.rows == [step.fed] * 3 for step in pair.steps)
    return [step.difference for step in pair.steps]


def test_the_list_of_controls():
    assert CONTROLS.keys() == STORED.keys() | ARITHMETIC.keys()


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize(("name", "least", "most"), [(n, *r) for n, r in (STORED | ARITHMETIC).items()])
def test_a_control_rounds_by_as_much_as_it_should_from_the_first_step_on(name, least, most, positions):
    for difference in differences(wide(positions, torch.float32), name):
        assert least <= difference <= most


@pytest.mark.parametrize("name", ["chunked prefill", "explicit attention", "float64"])
def test_in_float64_schedule_and_kernel_do_not_matter(name):
    assert max(differences(wide("rope"), name)) < 1e-9


def test_every_fault_is_larger_than_every_control():
    model = wide("learned", torch.float32)
    faults = {id: run_scenario(model, (id,)) for id, fault in CATALOGUE.items() if fault.fits(model.config)}
    smallest = min(max(step.difference for step in trace.steps) for trace in faults.values())
    assert smallest > 3 * max(max(differences(model, name)) for name in CONTROLS)


def test_controls_share_the_weights_except_for_the_one_in_float64():
    model = wide("rope", torch.float32)
    for name in CONTROLS:
        shared = control(model, name).model.token.weight is model.token.weight
        assert shared == (name != "float64")
    assert model.token.weight.dtype == torch.float32


def test_an_unknown_control_is_named():
    with pytest.raises(ValueError, match="no control 'int4'; known are: cache in bfloat16"):
        control(wide(), "int4")
