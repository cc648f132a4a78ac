"""torch.compile backends that find out what went wrong in another backend."""
