"""The library's second implementation has every fault of the course written again, in other code."""

from helpers.faults import CATALOGUE
from second_implementation.faults import FAMILY, FAULTS


def test_the_faults_are_those_of_the_catalogue():
    assert FAULTS.keys() == CATALOGUE.keys()
    assert {fault: CATALOGUE[fault].family for fault in FAULTS} == FAMILY
