"""Hash shards are the same as in kube-apiserver, disjoint, and complete."""

from __future__ import annotations

import uuid
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import HashShard, Unstructured
from dynkube.errors import InvalidInput
from dynkube.meta._selectors.hash_shard import fnv1a_64

SHARD: Any = HashShard  # for invalid arguments


def obj(uid: str) -> Unstructured:
    return Unstructured({"metadata": {"name": "a", "uid": uid}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_the_hash_is_fnv_1a(text: str, expected: int) -> None:
    """The vectors are from draft-eastlake-fnv."""
    assert fnv1a_64(text) == expected


RECORDED = [  # by kube-apiserver 1.36.3 with ShardedListAndWatch=true: UIDs, and the half of the hash range they are in
    ("74016b1e-e69e-4563-b118-2032b9463edd", 1),
    ("babaf511-7c98-4b99-b55b-d5fcb16cc0df", 1),
    ("1052035b-15f2-46bd-8114-509b108c846c", 0),
    ("7c9bb8bc-4263-4829-a285-da45d2c44390", 1),
    ("209c7c4c-7d46-47d1-8471-8eb9b606b251", 0),
    ("2cf53ca6-58a8-4c31-a859-b93719f09662", 1),
    ("6c3f228b-f8c1-4b1e-a325-4b9c4ac91f44", 0),
    ("d95f6bf2-39e0-4f5f-b266-c4f4fc8e3221", 0),
]


@pytest.mark.parametrize(("uid", "index"), RECORDED)
def test_objects_are_in_the_same_half_as_in_kube_apiserver(uid: str, index: int) -> None:
    assert [number for number in range(2) if HashShard(number, 2).matches(obj(uid))] == [index]


@given(st.text(), st.integers(1, 50))
def test_each_object_is_in_exactly_one_shard(uid: str, count: int) -> None:
    parts = [HashShard(index, count) for index in range(count)]

    assert sum(part.matches(obj(uid)) for part in parts) == 1


def test_the_start_of_a_shard_is_inclusive_and_its_end_exclusive() -> None:
    smallest = 2**64  # shards of one hash each
    assert HashShard(fnv1a_64("a"), smallest).matches(obj("a"))
    assert not HashShard(fnv1a_64("a") - 1, smallest).matches(obj("a"))


def test_shards_are_of_about_equal_size() -> None:
    parts, random = [HashShard(index, 5) for index in range(5)], Random(7)
    objects = [obj(str(uuid.UUID(int=random.getrandbits(128), version=4))) for _ in range(5000)]

    assert all(900 < sum(part.matches(each) for each in objects) < 1100 for part in parts)


def test_objects_without_a_uid_are_in_one_shard() -> None:
    without = Unstructured({"metadata": {"name": "a"}})
    parts = [HashShard(index, 3).matches(without) for index in range(3)]

    assert parts == [False, False, True]
    assert parts == [HashShard(index, 3).matches(obj("")) for index in range(3)]


@pytest.mark.parametrize(
    ("shard", "text"),
    [
        (HashShard(0, 2), "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"),
        (HashShard(1, 2), "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"),
        (HashShard(1, 3), "shardRange(object.metadata.uid, '0x5555555555555555', '0xaaaaaaaaaaaaaaaa')"),
        (HashShard(2, 3), "shardRange(object.metadata.uid, '0xaaaaaaaaaaaaaaaa', '0x10000000000000000')"),
        (HashShard(0, 1), "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"),
    ],
)
def test_a_shard_is_written_in_the_syntax_of_the_server(shard: HashShard, text: str) -> None:
    assert str(shard) == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 2), "index=-1, count=2: pass a count of 1 or more"),
        ((2, 2), "index=2, count=2"),
        ((0, 0), "index=0, count=0"),
        (("0", 2), "index='0': pass an integer"),
        ((0, 2.0), r"count=2\.0: pass an integer"),
        ((False, True), "index=False: pass an integer"),
    ],
)
def test_invalid_shards_are_rejected(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SHARD(*arguments)


def test_shards_are_values() -> None:
    assert HashShard(0, 2) == HashShard(0, 2) != HashShard(0, 3)
    assert len({HashShard(0, 2), HashShard(0, 2), HashShard(1, 2)}) == 2
