"""What torch calls while it is imported, through the entry-point group ``torch.backends``."""


def autoload() -> None:
    """Do nothing yet."""
