"""Torch-free kernels that generated NumPy source calls.

The package holds one public module (or package) per family of operators. Import what you use,
``from dynreg_numpy.runtime import convolution, pooling``: a family is loaded when it is named,
so importing the runtime itself costs nothing, and SciPy is loaded by the first call that needs it.

==============  ==================================================================================
elementwise     casts, integer division, shifts and powers, sign
reductions      arg-extrema, variance
layout          strides, padding, views of complex numbers
matrix          integer products
convolution     one to three dimensions, transposed, backward
pooling         maxima and averages, adaptive, fractional, unpooling, backwards
normalization   batch, layer, group, RMS, backwards
activation      softmax and its relatives, GELU, SiLU, sigmoid, softplus, Mish, backwards
attention       scaled dot products in blocks, backward
loss            NLL, margins, CTC, distances, backwards
indexing        gather, scatter, index, masks, embeddings, unique, search, histograms, segments
sorting         sort, topk, ranks, mode, cumulative operations
resampling      upsampling, grids, reflection, im2col, pixel shuffle, backwards
special         special functions and orthogonal polynomials
linalg          factorisations, systems, spectra, determinants
fft             Fourier transforms
==============  ==================================================================================

Conventions that every kernel keeps:

* **Arguments** are NumPy arrays with any strides (negative, zero, overlapping), and Python scalars
  and tuples. No input is ever written.
* **Semantics are torch's.** Argument order and meaning follow the ATen overload that the docstring
  names, so a lowering passes its arguments on. Where NumPy differs (NaN in minima, ties, signs
  of remainders, casts that overflow, order of sorted NaN), torch's answer is given.
* **Dtypes.** The result has the dtype that torch promises, usually that of the first argument.
  float16 and bfloat16 are computed in float32 and rounded once at the end, as torch does.
* **Results** are new C-contiguous arrays, except where the docstring says otherwise. ``out=``,
  where offered, is an array of the result's shape and dtype that is filled and returned; it must
  not overlap the inputs.
* **Errors** are built-in exceptions of the type that torch raises for the same mistake.
  :class:`~dynreg_numpy.runtime.linalg.LinAlgError` stands for ``torch.linalg.LinAlgError``.
* **NumPy's floating-point warnings** belong to the caller: generated code runs under
  ``np.errstate(all="ignore")``, because torch is silent too.
"""

__all__: list[str] = []
