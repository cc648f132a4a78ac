"""torch.compile backends that run the captured graph with torch's own kernels."""
