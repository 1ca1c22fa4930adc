"""Compressed bodies: how objects are stored, and that they read like others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import Unstructured
from dynkube.meta._common import BodyCache
from dynkube.meta._compact import BodyCodec, Compactor
from dynkube.meta._wire.objects import ObjectDecoder

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


def widget(number: int, **spec: object) -> bytes:
    """Return an object that resembles the others."""
    rules = [{"backend": f"back-{number % 7}-{index}", "port": 8080 + number % 50, "weight": 1} for index in range(9)]
    metadata = {"name": f"w{number}", "resourceVersion": str(number), "labels": {"app": f"app-{number % 5}"}}
    return json.dumps({"kind": "Widget", "metadata": metadata, "spec": {"rules": rules, **spec}}).encode()


def gadget(number: int) -> bytes:
    """Return an object with nothing in common with widgets."""
    conditions = [{"Zustand": f"Nummer {number} {index} ist bereit", "Grund": "keiner"} for index in range(9)]
    return json.dumps({"apiVersion": "a/v1", "kind": "G", "metadata": {"name": f"g{number}"}, "s": conditions}).encode()


def noise(number: int) -> bytes:
    """Return an object that cannot be compressed."""
    text = "".join(Random(number).choices([chr(code) for code in range(35, 127)], k=2000))
    return json.dumps({"metadata": {"name": "n"}, "data": text}).encode()


def stored(decoder: ObjectDecoder, bodies: Iterable[bytes]) -> list[Unstructured]:
    objects = [decoder.decode(body) for body in bodies]
    return [obj for obj in objects if obj._common.codec is not None]


@pytest.fixture(scope="module")
def codec() -> BodyCodec:
    return BodyCodec([widget(number) for number in range(64)])


@given(VALUES)
def test_a_compressed_object_reads_like_an_uncompressed_one(codec: BodyCodec, value: object) -> None:
    body = widget(1, value=value)

    obj = ObjectDecoder(compactor=Compactor(codec)).decode(body)

    assert (obj.json, obj.to_dict(), obj["spec"]["value"]) == (body, json.loads(body), value)
    assert obj == Unstructured(body)
    assert pickle.loads(pickle.dumps(obj)) == obj  # our own data
    assert obj._common.codec is codec or len(body) < 2000


def test_objects_after_the_first_64_are_compressed_to_a_fifth() -> None:
    bodies = [widget(number) for number in range(1000)]

    compressed = stored(ObjectDecoder(compactor=Compactor()), bodies)

    assert len(compressed) == 1000 - 63
    assert [obj.json for obj in compressed] == bodies[63:]
    assert sum(len(obj._raw) for obj in compressed) * 5 < sum(map(len, bodies))


def test_few_objects_are_stored_as_they_are() -> None:
    assert stored(ObjectDecoder(compactor=Compactor()), (widget(number) for number in range(63))) == []


def test_objects_that_do_not_shrink_are_stored_as_they_are() -> None:
    compactor = Compactor()

    assert stored(ObjectDecoder(compactor=compactor), map(noise, range(6000))) == []
    assert compactor.compress(widget(1)) is None, "it is given up for a while"


def test_compression_is_tried_again_after_it_was_given_up() -> None:
    decoder = ObjectDecoder(compactor=Compactor())
    assert stored(decoder, map(noise, range(6000))) == []

    compressed = stored(decoder, map(widget, range(70_000)))

    assert len(compressed) > 4000


def test_very_large_objects_are_stored_as_they_are(codec: BodyCodec) -> None:
    small, large = widget(1), widget(2, text="x" * (1 << 20))
    decoder = ObjectDecoder(compactor=Compactor(codec))

    assert [obj.name for obj in stored(decoder, [large, small])] == ["w1"]


def test_samples_that_make_no_dictionary_leave_objects_as_they_are() -> None:
    assert stored(ObjectDecoder(compactor=Compactor()), [b'{"a":1}'] * 5000) == []


def test_a_new_dictionary_is_made_when_objects_change_their_shape() -> None:
    decoder = ObjectDecoder(compactor=Compactor())
    widgets = stored(decoder, map(widget, range(8000)))

    gadgets = stored(decoder, map(gadget, range(8000)))

    sizes = [len(obj._raw) for obj in gadgets]
    assert len({obj._common.codec for obj in gadgets}) > 1
    assert sum(sizes[-100:]) < sum(sizes[:100]) / 2
    assert {obj.json for obj in widgets} == set(map(widget, range(63, 8000))), "objects keep their dictionary"


def test_a_dictionary_that_fits_is_replaced_once() -> None:
    compactor = Compactor()

    codecs = {obj._common.codec for obj in stored(ObjectDecoder(compactor=compactor), map(widget, range(20_000)))}

    assert len(codecs) == 2, "after 64 objects, and after 4,096"


def test_objects_compressed_differently_are_compared_by_content(codec: BodyCodec) -> None:
    other = BodyCodec([gadget(number) for number in range(64)])
    plain = Unstructured(widget(1))

    one, two, different = (
        ObjectDecoder(compactor=Compactor(each)).decode(body)
        for each, body in ((codec, widget(1)), (other, widget(1)), (codec, widget(2)))
    )

    assert one == two == plain != different


def test_threads_may_read_compressed_objects_at_the_same_time(codec: BodyCodec) -> None:
    decoder = ObjectDecoder(compactor=Compactor(codec), bodies=BodyCache(limit=4))
    objects = [decoder.decode(widget(number)) for number in range(2000)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: [(obj.json, obj["metadata"]["name"]) for obj in objects], range(4)))

    assert all(result == [(widget(number), f"w{number}") for number in range(2000)] for result in results)


def test_every_object_can_be_read_while_dictionaries_are_judged() -> None:
    bodies = [widget(number) if number % 20 == 5 else noise(number) for number in range(8000)]
    decoder = ObjectDecoder(compactor=Compactor())

    assert [decoder.decode(body).json for body in bodies] == bodies


def test_a_first_dictionary_that_does_not_fit_is_replaced_by_the_second() -> None:
    bodies = [noise(number) for number in range(64)] + [widget(number) for number in range(8000)]

    compressed = stored(ObjectDecoder(compactor=Compactor()), bodies)

    sizes = [len(obj._raw) for obj in compressed[-1000:]]
    assert sum(sizes) < 1000 * 250


def test_shapes_that_alternate_lead_to_few_dictionaries() -> None:
    blocks = [gadget if number // 3000 % 2 else widget for number in range(60_000)]
    decoder = ObjectDecoder(compactor=Compactor())

    codecs = {obj._common.codec for obj in stored(decoder, (make(number) for number, make in enumerate(blocks)))}

    assert len(codecs) <= 8
