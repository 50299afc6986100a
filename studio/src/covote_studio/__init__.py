"""Studio: a web application in which people and models label a dataset, each seeing only what they know.

``context`` opens a project as a ``Studio``; ``app`` serves it through ``pages`` and ``api``,
behind ``guards``. What may be done is decided in ``rules``; ``storage``, ``people``, ``answers`` and
``exchange`` do it.
"""
