"""Reading and writing at indices, embeddings, unique values, searching and counting."""

from dynreg_numpy.runtime.indexing._embedding import (
    embedding_bag,
    embedding_bag_dense_backward,
    embedding_bag_weights_backward,
    embedding_dense_backward,
)
from dynreg_numpy.runtime.indexing._gather import embedding, gather, index, index_select, take
from dynreg_numpy.runtime.indexing._histogram import (
    bincount,
    histc,
    histogram,
    histogram_bin_edges,
    histogramdd,
)
from dynreg_numpy.runtime.indexing._put import (
    index_put,
    masked_fill,
    masked_scatter,
    masked_scatter_backward,
    masked_select,
    nonzero,
    nonzero_static,
    put,
)
from dynreg_numpy.runtime.indexing._rows import (
    index_add,
    index_copy,
    index_fill,
    index_reduce,
    repeat_interleave,
)
from dynreg_numpy.runtime.indexing._scatter import scatter, scatter_add, scatter_reduce
from dynreg_numpy.runtime.indexing._search import bucketize, searchsorted
from dynreg_numpy.runtime.indexing._segment import segment_reduce, segment_reduce_backward
from dynreg_numpy.runtime.indexing._unique import (
    unique,
    unique_consecutive,
    unique_dim,
    unique_dim_consecutive,
)

__all__ = [
    "bincount",
    "bucketize",
    "embedding",
    "embedding_bag",
    "embedding_bag_dense_backward",
    "embedding_bag_weights_backward",
    "embedding_dense_backward",
    "gather",
    "histc",
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "index",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "index_select",
    "masked_fill",
    "masked_scatter",
    "masked_scatter_backward",
    "masked_select",
    "nonzero",
    "nonzero_static",
    "put",
    "repeat_interleave",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "segment_reduce",
    "segment_reduce_backward",
    "take",
    "unique",
    "unique_consecutive",
    "unique_dim",
    "unique_dim_consecutive",
]
