"""How the documentation site is built: `make docs`, then open docs/_build/index.html."""

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "covote"
author = "The covote developers"
copyright = "The covote developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "captions",
    "examples",
    "mathml",
]
lexers["csv"] = TextLexer()
exclude_patterns = ["_build", "_ext"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "covote"
# The colour of the pictures.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f6f8b", "color-brand-content": "#1f6f8b"},
    "dark_css_variables": {"color-brand-primary": "#6fc3dd", "color-brand-content": "#6fc3dd"},
}
html_static_path = ["_static"]
html_css_files = ["covote.css"]
html_show_sphinx = False
html_copy_source = False
# Prompts are not copied with the commands.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
