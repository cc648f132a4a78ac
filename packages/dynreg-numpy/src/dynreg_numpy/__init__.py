"""A torch.compile backend that compiles ATen graphs, forward and backward, to NumPy source."""
