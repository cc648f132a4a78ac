"""Which of equal elements torch's selections return.

torch's CPU kernels select with algorithms that are not stable: introselect, heap sort and introsort
as libstdc++ has them, and a quickselect of its own. Which of several equal elements they return
depends on every comparison, so these functions make the same comparisons, on Python lists. They
serve rows that have ties; see :data:`LONGEST`.

D. R. Musser, "Introspective Sorting and Selection Algorithms", Software: Practice and Experience
27(8), 1997, describes introsort and introselect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

#: Rows beyond this length are selected from by a stable sort: the order of ties is nobody's
#: promise, and a Python loop over more elements would take milliseconds.
LONGEST = 1024
_INSERTION = 16

Less: TypeAlias = "Callable[[Any, Any], bool]"


def nth_element(a: list[Any], nth: int, less: Less) -> None:
    """Move the element of rank ``nth`` to its place, with none greater before it."""
    first, last = 0, len(a)
    depth = 2 * _log2(last)
    while last - first > 3:
        if depth == 0:
            _heap_select(a, first, nth + 1, last, less)
            a[first], a[nth] = a[nth], a[first]
            return
        depth -= 1
        cut = _partition(a, first, last, less)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(a, first, last, less)


def partial_sort(a: list[Any], count: int, less: Less) -> None:
    """Move the first ``count`` elements of the sorted order to the front, sorted."""
    _heap_select(a, 0, count, len(a), less)
    _sort_heap(a, 0, count, less)


def sort(a: list[Any], stop: int, less: Less) -> None:
    """Sort the first ``stop`` elements."""
    if not stop:
        return
    _introsort(a, 0, stop, 2 * _log2(stop), less)
    _insertion_sort(a, 0, min(stop, _INSERTION), less)
    for i in range(_INSERTION, stop):
        _insert(a, i, less)


def quickselect(a: list[Any], rank: int, greater: Less) -> None:
    """Move the element of ``rank`` to its place by the median of three, as torch's kthvalue."""
    low, high = 0, len(a) - 1
    while high > low + 1:
        middle = low + (high - low) // 2
        a[middle], a[low + 1] = a[low + 1], a[middle]
        for one, other in ((low + 1, high), (low, high), (low + 1, low)):
            _order(a, one, other, greater)
        i, j = _meet(a, low, high, greater)
        if j <= rank:
            low = i
        if j >= rank:
            high = j - 1
    if high == low + 1:
        _order(a, low, high, greater)


def _order(a: list[Any], one: int, other: int, greater: Less) -> None:
    if greater(a[one], a[other]):
        a[one], a[other] = a[other], a[one]


def _meet(a: list[Any], low: int, high: int, greater: Less) -> tuple[int, int]:
    """Part around ``a[low]`` by two walks that meet; return where each stopped."""
    pivot = a[low]
    i, j = low + 1, high
    while True:
        i += 1
        while greater(pivot, a[i]):
            i += 1
        j -= 1
        while greater(a[j], pivot):
            j -= 1
        if j < i:
            a[low], a[j] = a[j], a[low]
            return i, j
        a[i], a[j] = a[j], a[i]


def _log2(n: int) -> int:
    return n.bit_length() - 1


def _introsort(a: list[Any], first: int, last: int, depth: int, less: Less) -> None:
    while last - first > _INSERTION:
        if depth == 0:
            _heap_select(a, first, last, last, less)
            _sort_heap(a, first, last, less)
            return
        depth -= 1
        cut = _partition(a, first, last, less)
        _introsort(a, cut, last, depth, less)
        last = cut


def _partition(a: list[Any], first: int, last: int, less: Less) -> int:
    """Part around the median of the second, middle and last element, which is moved to first."""
    x, y, z = first + 1, first + (last - first) // 2, last - 1
    if less(a[x], a[y]):
        median = y if less(a[y], a[z]) else z if less(a[x], a[z]) else x
    else:
        median = x if less(a[x], a[z]) else z if less(a[y], a[z]) else y
    a[first], a[median] = a[median], a[first]
    pivot = a[first]
    low, high = first + 1, last
    while True:
        while less(a[low], pivot):
            low += 1
        high -= 1
        while less(pivot, a[high]):
            high -= 1
        if low >= high:
            return low
        a[low], a[high] = a[high], a[low]
        low += 1


def _insertion_sort(a: list[Any], first: int, last: int, less: Less) -> None:
    for i in range(first + 1, last):
        if less(a[i], a[first]):
            a.insert(first, a.pop(i))
        else:
            _insert(a, i, less)


def _insert(a: list[Any], i: int, less: Less) -> None:
    """Move ``a[i]`` left, past everything that is greater."""
    value = a[i]
    while less(value, a[i - 1]):
        a[i] = a[i - 1]
        i -= 1
    a[i] = value


def _heap_select(a: list[Any], first: int, middle: int, last: int, less: Less) -> None:
    """Make a heap of the smallest elements in ``[first, middle)``."""
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1) if length > 1 else ():
        _sift(a, first, parent, length, a[first + parent], less)
    for i in range(middle, last):
        if less(a[i], a[first]):
            _pop_heap(a, first, middle, i, less)


def _sort_heap(a: list[Any], first: int, last: int, less: Less) -> None:
    for end in range(last - 1, first, -1):
        _pop_heap(a, first, end, end, less)


def _pop_heap(a: list[Any], first: int, last: int, result: int, less: Less) -> None:
    value = a[result]
    a[result] = a[first]
    _sift(a, first, 0, last - first, value, less)


def _sift(a: list[Any], first: int, hole: int, length: int, value: Any, less: Less) -> None:
    """Let the hole sink to a leaf along the greater children, then ``value`` rise from there."""
    top = hole
    child = hole
    while child < (length - 1) // 2:
        child = 2 * child + 2
        if less(a[first + child], a[first + child - 1]):
            child -= 1
        a[first + hole] = a[first + child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        a[first + hole] = a[first + child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and less(a[first + parent], value):
        a[first + hole] = a[first + parent]
        hole = parent
        parent = (hole - 1) // 2
    a[first + hole] = value
