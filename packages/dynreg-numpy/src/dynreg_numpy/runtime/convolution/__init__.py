"""Convolution in one to three dimensions, transposed or not, and its backward.

Algorithms: a matmul where each output position reads one input position or the whole input;
otherwise unfolding in tiles that stay in cache, and one BLAS product per tile. Depthwise and
grouped convolutions are the same with a batched product.
"""

from dynreg_numpy.runtime.convolution._convolution import convolution, convolution_backward

__all__ = ["convolution", "convolution_backward"]
