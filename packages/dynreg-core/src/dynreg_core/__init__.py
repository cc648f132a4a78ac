"""A registry, loader and command line for torch.compile backends."""
