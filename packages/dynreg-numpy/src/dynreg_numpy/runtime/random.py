r"""Random numbers: those that torch's CPU generator gives.

Both torch and NumPy have the Mersenne Twister (M. Matsumoto and T. Nishimura, 1998), so its words
are the same; what is drawn from them follows ATen's ``core/DistributionsHelper.h`` and
``native/cpu/DistributionTemplates.h``. Elements are drawn in the order of memory.

Every function takes a :class:`Stream` first, from which it draws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dynreg_numpy.runtime import sorting
from dynreg_numpy.runtime._arrays import narrow, widen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynreg_numpy.runtime._arrays import Array, DType

__all__ = [
    "Stream",
    "bernoulli",
    "bernoulli_scalar",
    "cauchy",
    "dropout",
    "exponential",
    "geometric",
    "integers",
    "log_normal",
    "multinomial",
    "normal",
    "permutation",
    "rrelu",
    "set_state",
    "state",
    "uniform",
]

#: From so many elements on torch takes the transform of Box and Muller in blocks of 16.
_FILL = 16
#: Ranges from here on take 64 random bits an element.
_WIDE_RANGE = 1 << 28


class Stream(Protocol):
    """Where random words come from."""

    def words(self, count: int) -> Array:
        """Return the next ``count`` words of 32 bits, as uint64."""

    def take_normal(self) -> float | None:
        """Return the second half of the last pair of normal numbers, once."""

    def keep_normal(self, value: float) -> None:
        """Keep the second half of a pair of normal numbers."""

    def get_state(self) -> Array:
        """Return all that decides what comes next, as bytes."""

    def set_state(self, state: Array) -> None:
        """Go back to a state."""


def state(stream: Stream) -> Array:
    """Return the state of a stream, uint8."""
    return stream.get_state()


def set_state(stream: Stream, bits: Array) -> None:
    """Go back to a state that :func:`state` gave."""
    stream.set_state(bits)


def _doubles(stream: Stream, count: int) -> Array:
    """Uniform numbers in [0, 1) of 53 bits."""
    bits: Array = _long_words(stream, count) & np.uint64((1 << 53) - 1)
    return bits.astype(np.float64) * 2.0**-53


def _long_words(stream: Stream, count: int) -> Array:
    pairs = stream.words(2 * count)
    words: Array = (pairs[0::2] << np.uint64(32)) | pairs[1::2]
    return words


def _singles(stream: Stream, count: int) -> Array:
    """Uniform numbers in [0, 1) of 24 bits."""
    bits = stream.words(count) & np.uint64((1 << 24) - 1)
    return bits.astype(np.float32) * np.float32(2.0**-24)


def _units(stream: Stream, count: int, dtype: DType) -> Array:
    return _doubles(stream, count) if dtype == np.float64 else _singles(stream, count)


def _laid_out(flat: Array, shape: Sequence[int], order: Sequence[int] | None) -> Array:
    """Give numbers drawn in the order of memory a shape; ``order`` has the outer axis first."""
    if order is None:
        return flat.reshape(shape)
    inner = flat.reshape([shape[axis] for axis in order])
    return np.transpose(inner, np.argsort(order))


def uniform(
    stream: Stream,
    shape: Sequence[int],
    low: float,
    high: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw from [low, high), as ``aten.rand`` and ``aten.uniform`` do.

    Args:
        stream: where the random words come from.
        shape: shape of the result.
        low: least value.
        high: end of the range.
        dtype: floating dtype, or complex for two numbers an element.
        order: dimensions from the outermost in memory to the innermost; None if as indexed.
    """
    count, dtype = math.prod(shape), np.dtype(dtype)
    if dtype.kind == "c":
        real = np.dtype(np.float64 if dtype == np.complex128 else np.float32)
        parts = _units(stream, 2 * count, real) * real.type(high - low) + real.type(low)
        return _laid_out(parts.view(dtype), shape, order)
    units = _units(stream, count, dtype)
    if (low, high) != (0, 1):
        units = units * units.dtype.type(high - low) + units.dtype.type(low)
    return _laid_out(units.astype(dtype, copy=False), shape, order)


def normal(
    stream: Stream,
    shape: Sequence[int],
    mean: float,
    deviation: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw normal numbers, as ``aten.randn`` and ``aten.normal_functional`` do.

    G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates", 1958. The
    arguments are those of :func:`uniform`, with mean and standard deviation.
    """
    count, dtype = math.prod(shape), np.dtype(dtype)
    if dtype.kind == "c":
        real = np.dtype(np.float64 if dtype == np.complex128 else np.float32)
        scale = deviation * math.sqrt(0.5)
        parts = _normals(stream, 2 * count, mean, scale, real, fills=order is None)
        return _laid_out(parts.view(dtype), shape, order)
    flat = _normals(stream, count, mean, deviation, dtype, fills=order is None)
    return _laid_out(flat, shape, order)


def _normals(
    stream: Stream, count: int, mean: float, deviation: float, dtype: DType, *, fills: bool
) -> Array:
    if count < _FILL or not fills:
        return (_normal_doubles(stream, count) * deviation + mean).astype(dtype)
    whole = count - count % _FILL
    # Numbers that the last block replaces are drawn all the same, but not in narrow formats.
    drawn = count if dtype.itemsize >= 4 else whole
    units = _units(stream, drawn, dtype).astype(dtype, copy=False)
    result = np.empty(count, dtype)
    result[:whole] = _transformed(units[:whole], mean, deviation)
    if whole < count:
        last = _units(stream, _FILL, dtype).astype(dtype, copy=False)
        result[-_FILL:] = _transformed(last, mean, deviation)
    return result


def _transformed(units: Array, mean: float, deviation: float) -> Array:
    """Transform blocks of sixteen: the first eight of each give radii, the others angles."""
    blocks = widen(units).reshape(-1, 2, _FILL // 2)
    kind = blocks.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - blocks[:, 0]))
    angle = kind(2 * math.pi) * blocks[:, 1]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    result: Array = pairs.reshape(-1) * kind(deviation) + kind(mean)
    return result


def _normal_doubles(stream: Stream, count: int) -> Array:
    result = np.empty(count, np.float64)
    begin = 0
    if count and (kept := stream.take_normal()) is not None:
        result[0], begin = kept, 1
    pairs = -(-(count - begin) // 2)
    units = _doubles(stream, 2 * pairs).reshape(pairs, 2)
    radius = np.sqrt(-2 * np.log1p(-units[:, 1]))
    angle = 2 * math.pi * units[:, 0]
    drawn = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
    result[begin:] = drawn[: count - begin]
    if len(drawn) > count - begin:
        stream.keep_normal(float(drawn[-1]))
    return result


def integers(
    stream: Stream,
    shape: Sequence[int],
    low: int,
    high: int,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw integers from [low, high), as ``aten.randint`` does; see :func:`uniform`.

    Raises:
        RuntimeError: the range is empty.
    """
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    span, count = high - low, math.prod(shape)
    words = _long_words(stream, count) if span >= _WIDE_RANGE else stream.words(count)
    drawn = (words % np.uint64(span)).astype(np.int64) + low
    return _laid_out(drawn.astype(dtype), shape, order)


def permutation(stream: Stream, count: int, dtype: DType) -> Array:
    """Draw an order of ``count`` things, as ``aten.randperm`` does.

    R. Fisher and F. Yates, "Statistical Tables", 1938.
    """
    items = list(range(count))
    words = stream.words(max(count - 1, 0)).tolist()
    for i, word in enumerate(words):
        j = i + word % (count - i)
        items[i], items[j] = items[j], items[i]
    return np.array(items, dtype)


def bernoulli_scalar(
    stream: Stream,
    shape: Sequence[int],
    probability: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw ones with one probability, as ``aten.bernoulli.p`` does; see :func:`uniform`."""
    _check_probability(probability)
    drawn = _doubles(stream, math.prod(shape)) < probability
    return _laid_out(drawn.astype(dtype), shape, order)


def bernoulli(stream: Stream, probability: Array, dtype: DType) -> Array:
    """Draw ones with a probability each, as ``aten.bernoulli`` and ``bernoulli.Tensor`` do.

    Raises:
        RuntimeError: a probability is outside [0, 1].
    """
    chances = widen(np.asarray(probability))
    if not np.all((chances >= 0) & (chances <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    units = _units(stream, chances.size, chances.dtype).reshape(chances.shape)
    return np.asarray(units < chances).astype(dtype)


def _check_probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={probability}")


def dropout(
    stream: Stream,
    x: Array,
    probability: float,
    train: bool | None,
    order: Sequence[int] | None = None,
) -> tuple[Array, Array]:
    """Zero elements with a probability and scale the others, as ``aten.native_dropout`` does.

    ``order`` is that of the dimensions of ``x`` in torch's memory; see :func:`uniform`.

    Returns:
        The result, and which elements were kept, boolean.
    """
    if train is False or x.size == 0:
        return x.copy(), np.ones(x.shape, np.bool_)
    if probability == 1:
        return np.zeros_like(x), np.zeros(x.shape, np.bool_)
    kept = bernoulli_scalar(stream, x.shape, 1 - probability, np.dtype(np.bool_), order)
    wide = widen(x)
    scaled = wide * wide.dtype.type(1 / (1 - probability)) if probability else wide
    return narrow(np.where(kept, scaled, wide.dtype.type(0)), x.dtype), kept


def exponential(
    stream: Stream,
    shape: Sequence[int],
    rate: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw from the exponential distribution, as ``aten.exponential`` does."""
    drawn = -np.log1p(-_doubles(stream, math.prod(shape))) / rate
    return _laid_out(drawn.astype(dtype), shape, order)


def geometric(
    stream: Stream,
    shape: Sequence[int],
    probability: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw numbers of trials up to a success, as ``aten.geometric`` does."""
    units = _doubles(stream, math.prod(shape))
    drawn = np.ceil(np.log(units) / math.log1p(-probability))
    return _laid_out(drawn.astype(dtype), shape, order)


def cauchy(
    stream: Stream,
    shape: Sequence[int],
    median: float,
    width: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw from the Cauchy distribution, as ``aten.cauchy`` does."""
    units = _doubles(stream, math.prod(shape))
    drawn = median + width * np.tan(math.pi * (units - 0.5))
    return _laid_out(drawn.astype(dtype), shape, order)


def log_normal(
    stream: Stream,
    shape: Sequence[int],
    mean: float,
    deviation: float,
    dtype: DType,
    order: Sequence[int] | None = None,
) -> Array:
    """Draw exponentials of normal numbers, as ``aten.log_normal`` does."""
    drawn = np.exp(_normal_doubles(stream, math.prod(shape)) * deviation + mean)
    return _laid_out(drawn.astype(dtype), shape, order)


def multinomial(stream: Stream, weights: Array, count: int, replacement: bool) -> Array:
    r"""Draw indices by weight, as ``aten.multinomial`` does.

    Args:
        stream: where the random words come from.
        weights: (n,) or (batch, n), floating, not negative; each row has a positive sum.
        count: draws from each row.
        replacement: whether an index can come again.

    Returns:
        (count,) or (batch, count), int64.

    Raises:
        RuntimeError: a weight is negative, infinite or NaN, or a row sums to zero.
    """
    wide = widen(weights)
    if not np.all(np.isfinite(wide) & (wide >= 0)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(wide.sum(-1) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement or count == 1:
        exponentials = exponential(stream, wide.shape, 1.0, wide.dtype)
        ranks = wide / exponentials
        if count == 1:
            return np.asarray(np.argmax(ranks, axis=-1, keepdims=True))
        return sorting.topk(ranks, count, -1)[1]
    rows = wide.reshape(-1, wide.shape[-1])
    cumulative = np.cumsum(rows, axis=1)
    cumulative /= cumulative[:, -1:]
    units = _doubles(stream, len(rows) * count).reshape(len(rows), count)
    drawn = np.stack(
        [np.searchsorted(row, unit) for row, unit in zip(cumulative, units, strict=True)]
    )
    # Rounding may leave the last sum under one.
    indices: Array = np.minimum(drawn, wide.shape[-1] - 1).astype(np.int64)
    return indices.reshape(*wide.shape[:-1], count)


def rrelu(stream: Stream, x: Array, low: float, high: float, training: bool) -> tuple[Array, Array]:
    """Leaky ReLU with random slopes, as ``aten.rrelu_with_noise_functional`` does.

    Returns:
        The result, and the slopes, which are 1 where ``x`` is positive.
    """
    wide = widen(x)
    if not training:
        slope = wide.dtype.type((low + high) / 2)
        return narrow(np.where(wide > 0, wide, wide * slope), x.dtype), np.zeros_like(x)
    noise = np.ones(x.shape, wide.dtype)
    negative = wide <= 0
    drawn: Any = _doubles(stream, int(negative.sum())) * (high - low) + low
    noise[negative] = drawn
    return narrow(wide * noise, x.dtype), narrow(noise, x.dtype)
