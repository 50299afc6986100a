"""Panel: the classes, the experts, and who knows what."""

from covote.panel.pairs import Outage
from covote.panel.panel import Certificate, Name, Panel, class_names, zeros

__all__ = ["Certificate", "Name", "Outage", "Panel", "class_names", "zeros"]
