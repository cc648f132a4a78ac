"""Lowerings by family. Importing this package fills ``dynreg_numpy.lowering.LOWERINGS``."""

from dynreg_numpy.lowerings import (  # noqa: F401 - importing a family enters its lowerings
    activation,
    control,
    convolution,
    creation,
    fourier,
    indexing,
    linalg,
    loss,
    matrix,
    normalization,
    pointwise,
    pooling,
    random,
    reduction,
    resampling,
    sorting,
    special,
    symbolic,
    view,
)
