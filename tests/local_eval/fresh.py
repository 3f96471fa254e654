"""A greenhouse: the shipped tools on tasks that were written before a change of the prompt and never tuned on."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from nr_llm import Tool

from tests.local_eval.machine import furnished, hour
from tests.local_eval.scoring import LoopTask, Value, task

FILES = {
    "README.rst": "Greenhouse\n==========\n\nThe panel listens on port 5150. Questions go to grow@example.org.\n",
    "setup.toml": 'name = "greenhouse"\nversion = "1.7.3"\nlicence = "BSD"\n',
    "sensors/humidity.py": "LIMIT = 65\n\nclass HumiditySensor:\n    def read(self):\n        return LIMIT\n",
    "sensors/light.py": "from sensors.humidity import LIMIT\n\ndef lux(volt):\n    return volt * 420\n",
    "settings/watering.ini": "[watering]\nlitres_per_day = 36\nvalves = 4\n",
    "settings/heating.ini": "[heating]\nnight_degrees = 12\n",
    "manual/pumps.txt": "The pump runs at 06:40 each morning.\nReplace its filter every 90 days.\n",
    "manual/seeds.txt": "Basil sprouts in 8 days.\nTomatoes sprout in 11 days.\n",
    "journal/may.log": "May 3 aphids on the peppers\nMay 9 vent repaired by Olga\n",
}
DATABASE = """
create table beds (id integer primary key, label text, square_metres real);
create table plants (id integer primary key, name text, bed_id integer references beds, height_cm integer);
create table harvests (id integer primary key, plant_id integer references plants, kilograms real, picker text,
    grade text);
insert into beds values (1, 'north', 12.5), (2, 'south', 18.0), (3, 'window', 4.0);
insert into plants values (20, 'basil', 3, 35), (21, 'tomato', 2, 140), (22, 'pepper', 2, 80), (23, 'chard', 1, 45);
insert into harvests values (70, 21, 6.5, 'Olga', 'A'), (71, 22, 2.25, 'Ivo', 'B'), (72, 20, 0.5, 'Olga', 'A'),
    (73, 21, 4.0, 'Ivo', 'C'), (74, 23, 3.0, 'Pia', 'B');
"""


def tools(folder: Path) -> list[Tool]:
    """Return the shipped tools, with the greenhouse in `folder`."""
    return furnished(folder, FILES, DATABASE)


R = re.compile
TASKS = (
    task("List everything inside manual.", "list_directory", {"path": "manual"}),
    task("Have a look at the top folder: what is in there?", "list_directory", {}, {"path": "/"}),
    task("What do we keep in the sensors directory?", "list_directory", {"path": "sensors"}),
    task(
        "I am looking for a file called heating.ini, where is it?",
        "find_files",
        {"pattern": R(r"(\*\*/)?heating\.ini")},
    ),
    task("Which log files exist?", "find_files", {"pattern": R(r"(\*\*/)?\*?\.log")}),
    task("Find all files whose name ends in .txt.", "find_files", {"pattern": R(r"(\*\*/)?\*\.txt")}),
    task("Print manual/seeds.txt.", "read_file", {"path": "manual/seeds.txt"}),
    task("What is written in journal/may.log?", "read_file", {"path": "journal/may.log"}),
    task(
        "Let me see the first 3 lines of sensors/humidity.py.", "read_file", {"path": "sensors/humidity.py", "lines": 3}
    ),
    task("What settings are in settings/heating.ini?", "read_file", {"path": "settings/heating.ini"}),
    task("Which lines mention Olga?", "search_code", {"text": "Olga"}),
    task("Where is the function lux defined?", "search_code", {"text": R(r"(def )?lux(\()?")}),
    task("Search the folder manual for the word filter.", "search_code", {"text": "filter", "path": "manual"}),
    task("Give me a list of the installed packages.", "list_packages", {}),
    task("Do I have requests installed?", "list_packages", {"prefix": "requests"}),
    task("What version of rich is installed?", "list_packages", {"prefix": "rich"}),
    task("What version of Python am I using?", "get_python_info", {}),
    task("On which platform does this Python run?", "get_python_info", {}),
    task("How much is 64 times 17?", "calculate", {"expression": Value(1088)}),
    task("Work out 12 % of 850.", "calculate", {"expression": Value(102)}),
    task("Subtract 289 from 1000.", "calculate", {"expression": Value(711)}),
    task("What is the time in London now?", "get_time", {"zone": "Europe/London"}),
    task("Tell me what time it is in Los Angeles.", "get_time", {"zone": "America/Los_Angeles"}),
    task("Name all the tables in the database.", "list_tables", {}),
    task("How many rows do the database tables have?", "list_tables", {}),
    task("What fields are there in the plants table?", "table_schema", {"table": "plants"}),
    task("Show me how the harvests table is structured.", "table_schema", {"table": "harvests"}),
    task("Show everything in the beds table.", "read_records", {"table": "beds"}),
    task("Show the harvests of grade B.", "read_records", {"table": "harvests", "filters": {"grade": "B"}}),
    task("Get the first 2 rows of the plants table.", "read_records", {"table": "plants", "limit": 2}),
    task("Good morning, how do you do?"),
    task("That was great, thanks!"),
    task("What are you able to do?"),
    task("Write a two-line poem about autumn."),
    task("What is the opposite of 'cold'?"),
    task("Say 'see you tomorrow' in Italian."),
)
LOOPS = (
    LoopTask("Which file tells about aphids, and what happened on May 9?", (r"may\.log", r"vent|repair|Olga")),
    LoopTask(
        "In which file is the class HumiditySensor, and what is LIMIT set to there?", (r"humidity\.py", r"\b65\b")
    ),
    LoopTask("Locate the file about pumps and say how often the filter is replaced.", (r"\b90\b",)),
    LoopTask(
        "Read settings/watering.ini and work out how many litres each valve gets per day.",
        (r"\b9(\.0+)?\b",),
        (r"\b144\b",),
    ),
    LoopTask("How many litres are used in 30 days according to settings/watering.ini?", (r"1[, ]?080\b",)),
    LoopTask("Take the port from README.rst and subtract 150 from it.", (r"5[, ]?000\b",)),
    LoopTask("What is the time in Paris and in Sydney?", (hour("Europe/Paris"), hour("Australia/Sydney"))),
    LoopTask(
        "Tell me the installed versions of cattrs and anyio.",
        (re.escape(version("cattrs")), re.escape(version("anyio"))),
    ),
    LoopTask("What is the label of the bed where plant 21 grows?", (r"(?i)\bsouth\b",), (r"(?i)\bnorth\b",)),
    LoopTask("What is the name of the plant that was picked in harvest 71?", (r"(?i)\bpepper\b",), (r"(?i)\bbasil\b",)),
    LoopTask("How tall is plant 22, and how tall are 3 such plants on top of each other?", (r"\b80\b", r"\b240\b")),
    LoopTask(
        "Which table has the most rows, and which fields does it have?", (r"harvests", r"kilograms", r"picker|grade")
    ),
)
