"""Panel: the classes, the experts, and who knows what."""

from covote.arguments import Name
from covote.panel.checks import class_names, zeros
from covote.panel.pairs import Outage
from covote.panel.panel import Certificate, Panel

__all__ = ["Certificate", "Name", "Outage", "Panel", "class_names", "zeros"]
