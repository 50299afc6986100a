"""A project as the first version of the studio left it."""

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from covote_studio.context import open_studio
from covote_studio.storage.database import MIGRATIONS

ANSWERS = [(1, 1, 2, 1, "key-number-1"), (2, 1, 3, -2, "key-number-2"), (3, 2, 2, -3, "key-number-3"),
           (4, 2, 3, 7, "key-number-4")]  # fmt: skip
"""Answers: id, item, person, class or -2 or -3, key. Class 7 was removed although an answer names it."""
_ROWS = """
INSERT INTO project VALUES (1, 'abc', 'old', '', 'everybody', 900, 5, 2, 0.0);
INSERT INTO class (id, position, name, description)
  VALUES (1, 1, 'cat', ''), (2, 2, 'dog', ''), (3, 3, 'fox', '');
INSERT INTO options VALUES (1, 'd', '[1, 2, 7]');
INSERT INTO person VALUES (1, 'owner', 'owner', 1, true, true, false, NULL, NULL, 0, 0, NULL, '', 0.0),
  (2, 'ann', 'expert', 1, true, true, false, NULL, NULL, 0, 2, 1, '', 0.0),
  (3, 'bob', 'expert', 1, true, true, false, NULL, NULL, 0, 2, 1, '', 0.0);
INSERT INTO knows VALUES (2, 1), (2, 2), (3, 1), (3, 2);
INSERT INTO item VALUES (1, 1, 'i1', 'text', 'x', NULL, 0, 0.0), (2, 2, 'i2', 'text', 'y', 2, 0, 0.0)
"""


def make_old_project(url):
    """Make the tables of the first version at an address, with some rows."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for statement in _ROWS.split(";"):
            connection.exec_driver_sql(statement)
        for number, item, person, choice, key in ANSWERS:
            connection.exec_driver_sql(
                "INSERT INTO answer (id, item_id, person_id, class_id, key, options_id, via, at) "
                f"VALUES ({number}, {item}, {person}, {choice}, '{key}', 1, 'page', 1.0)"
            )
    engine.dispose()


def check_new_project(folder, database=None):
    """Open the project, which brings its tables up to date, and compare what is in it."""
    for _ in range(2):
        studio = open_studio(folder, database)
        with studio.database.read() as connection:
            answers = connection.exec_driver_sql(
                "SELECT id, item_id, person_id, coalesce(class_id, other), key FROM answer ORDER BY id"
            ).all()
            names = connection.exec_driver_sql("SELECT id, name, retired FROM class ORDER BY id").all()
        assert [tuple(row) for row in answers] == ANSWERS
        assert [tuple(row) for row in names] == [
            (1, "cat", False), (2, "dog", False), (3, "fox", False), (7, "removed class 7", True)
        ]  # fmt: skip
        studio.stop()
