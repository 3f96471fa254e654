"""An observatory: the shipped tools on tasks that the prompt and the tools' words may be tuned on."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from nr_llm import Tool

from tests.local_eval.machine import furnished, hour
from tests.local_eval.scoring import LoopTask, Value, task

FILES = {
    "README.md": "# Observatory\n\nControls the dome. Its server answers on port 7400.\n",
    "setup.cfg": "[metadata]\nname = observatory\nversion = 0.9.2\n",
    "config/telescope.toml": "focal_mm = 1200\nexposure_seconds = 45\neyepieces = 3\n",
    "config/alarm.toml": "max_wind = 14\nmax_humidity = 85\n",
    "src/dome.py": "SPEED = 3.5\n\nclass DomeMotor:\n    def turn(self, degrees):\n        return degrees / SPEED\n",
    "src/weather.py": "from src.dome import DomeMotor\n\nLIMIT = 14\n\ndef may_open(wind):\n    return wind < LIMIT\n",
    "docs/maintenance.md": "The mirror is cleaned every 18 months.\nThe rails are greased in April.\n",
    "docs/visitor.md": "Visitors may come on Fridays from 19:30.\nA ticket costs 8 EUR.\n",
    "logs/november.txt": "Nov 2 clouds all night\nNov 7 comet photographed by Signe\n",
}
DATABASE = """
create table stars (id integer primary key, name text, constellation text, magnitude real);
create table observers (id integer primary key, name text, town text);
create table observations (id integer primary key, star_id integer references stars, observer_id integer
    references observers, minutes integer, quality text);
insert into stars values (30, 'Vega', 'Lyra', 0.03), (31, 'Deneb', 'Cygnus', 1.25), (32, 'Altair', 'Aquila', 0.76),
    (33, 'Mizar', 'Ursa Major', 2.23), (34, 'Algol', 'Perseus', 2.12);
insert into observers values (1, 'Signe', 'Bergen'), (2, 'Marek', 'Brno'), (3, 'Joao', 'Porto');
insert into observations values (500, 31, 3, 40, 'good'), (501, 30, 1, 25, 'poor'), (502, 34, 2, 60, 'good'),
    (503, 33, 2, 15, 'fair');
"""


def tools(folder: Path) -> list[Tool]:
    """Return the shipped tools, with the observatory in `folder`."""
    return furnished(folder, FILES, DATABASE)


R = re.compile
TASKS = (
    task("What is in the config folder?", "list_directory", {"path": "config"}),
    task("Which files and folders are at the top?", "list_directory", {}, {"path": "/"}),
    task("Find all TOML files.", "find_files", {"pattern": R(r"(\*\*/)?\*?\.toml")}),
    task("Where is dome.py?", "find_files", {"pattern": R(r"(\*\*/)?dome\.py")}),
    task("Find the Python files in src.", "find_files", {"pattern": R(r"(\*\*/)?\*\.py"), "path": "src"}),
    task("Show me docs/maintenance.md.", "read_file", {"path": "docs/maintenance.md"}),
    task("What does logs/november.txt contain?", "read_file", {"path": "logs/november.txt"}),
    task("Which version does setup.cfg state?", "read_file", {"path": "setup.cfg"}),
    task("Show the first 2 lines of src/dome.py.", "read_file", {"path": "src/dome.py", "lines": 2}),
    task("Which lines contain the word mirror?", "search_code", {"text": "mirror"}),
    task("In which file is may_open defined?", "search_code", {"text": R(r"(def )?may_open(\()?")}),
    task("Search the docs folder for April.", "search_code", {"text": "April", "path": "docs"}),
    task("Which packages are installed?", "list_packages", {}),
    task("Is click installed?", "list_packages", {"prefix": "click"}),
    task("Which version of pytest do I have?", "list_packages", {"prefix": "pytest"}),
    task("What is the Python version?", "get_python_info", {}),
    task("Compute 19 % of 700.", "calculate", {"expression": Value(133)}),
    task("What is 96 divided by 12?", "calculate", {"expression": Value(8)}),
    task("Multiply 2.5 by 18.", "calculate", {"expression": Value(45)}),
    task("What time is it in Rome?", "get_time", {"zone": "Europe/Rome"}),
    task("What is the time in Chicago at the moment?", "get_time", {"zone": "America/Chicago"}),
    task("List the tables of the database.", "list_tables", {}),
    task("Which columns are in the stars table?", "table_schema", {"table": "stars"}),
    task("Show all rows of the observers table.", "read_records", {"table": "observers"}),
    task(
        "List the observations of quality good.",
        "read_records",
        {"table": "observations", "filters": {"quality": "good"}},
    ),
    task("Show 3 rows of the stars table.", "read_records", {"table": "stars", "limit": 3}),
    task("Hello!"),
    task("Thanks a lot!"),
    task("What is your name?"),
    task("Write a haiku about the moon."),
    task("What is the plural of 'mouse'?"),
    task("Say 'thank you' in German."),
)
LOOPS = (
    LoopTask("Which file mentions a comet, and who photographed it?", (r"november\.txt", r"Signe")),
    LoopTask("In which file is the class DomeMotor defined, and what is SPEED there?", (r"dome\.py", r"3[.,]5")),
    LoopTask("Find the file about visitors and tell me what a ticket costs.", (r"\b8\b",)),
    LoopTask("Read config/telescope.toml and work out how many seconds 20 exposures take.", (r"\b900\b",)),
    LoopTask("What do 5 tickets cost according to docs/visitor.md?", (r"\b40\b",)),
    LoopTask("Take the port from README.md and add 25 to it.", (r"7[, ]?425\b",)),
    LoopTask("What time is it in Lima and in Cairo?", (hour("America/Lima"), hour("Africa/Cairo"))),
    LoopTask(
        "Which versions of sqlalchemy and httpx are installed?",
        (re.escape(version("sqlalchemy")), re.escape(version("httpx"))),
    ),
    LoopTask("What is the name of the observer of observation 502?", (r"Marek",), (r"Signe", r"Joao")),
    LoopTask("Which star was observed in observation 503?", (r"Mizar",), (r"Vega", r"Deneb", r"Algol")),
    LoopTask("Which table has the most rows, and what are its columns?", (r"stars", r"constellation", r"magnitude")),
    LoopTask("How many minutes did observation 501 take, and how long would 4 such take?", (r"\b25\b", r"\b100\b")),
    LoopTask("In which town does the observer with the number 3 live?", (r"Porto",)),
    LoopTask("What is the limit in src/weather.py, and what is twice that limit?", (r"\b14\b", r"\b28\b")),
    LoopTask("Which file says how often the mirror is cleaned, and how often is it?", (r"maintenance\.md", r"\b18\b")),
    LoopTask("What is the magnitude of Algol, and in which constellation is it?", (r"2[.,]12", r"Perseus")),
)
