"""A ferry line: the shipped tools on tasks that were written after the prompt and the tools' words, for one look."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

from nr_llm import Tool

from tests.local_eval.machine import furnished, hour
from tests.local_eval.scoring import LoopTask, Value, task

FILES = {
    "HARBOUR.md": "# Ferry line\n\nTickets are sold at gate 4. The radio uses channel 72.\n",
    "ferry.toml": 'name = "ferry"\nversion = "3.2.0"\nauthor = "Runa Dahl"\n',
    "fleet/engine.py": "POWER_KW = 820\n\nclass DieselEngine:\n    def start(self):\n        return POWER_KW\n",
    "fleet/cargo.py": "from fleet.engine import POWER_KW\n\ndef load_limit(cars):\n    return cars * 1400\n",
    "plans/summer.ini": "[summer]\ncrossings_per_day = 18\ncrew_per_crossing = 7\n",
    "plans/winter.ini": "[winter]\ncrossings_per_day = 6\n",
    "rules/luggage.txt": "Each passenger may bring 32 kg.\nBicycles travel free of charge.\n",
    "rules/animals.txt": "Dogs need a leash.\nCats travel in a basket for 3 EUR.\n",
    "records/march.log": "Mar 4 fog, two crossings cancelled\nMar 19 propeller replaced by Osman\n",
}
DATABASE = """
create table vessels (id integer primary key, name text, seats integer, built integer);
create table captains (id integer primary key, name text, port text);
create table crossings (id integer primary key, vessel_id integer references vessels, captain_id integer
    references captains, passengers integer, weather text);
insert into vessels values (40, 'Tern', 120, 1998), (41, 'Gannet', 260, 2011), (42, 'Puffin', 85, 2004);
insert into captains values (5, 'Ingrid Moe', 'Stavanger'), (6, 'Paolo Conti', 'Genoa');
insert into crossings values (900, 41, 6, 212, 'calm'), (901, 40, 5, 77, 'storm'), (902, 42, 5, 64, 'calm'),
    (903, 41, 5, 190, 'fog'), (904, 40, 6, 103, 'storm');
"""


def tools(folder: Path) -> list[Tool]:
    """Return the shipped tools, with the ferry line in `folder`."""
    return furnished(folder, FILES, DATABASE)


R = re.compile
TASKS = (
    task("What files are there in rules?", "list_directory", {"path": "rules"}),
    task("Show what the folder fleet contains.", "list_directory", {"path": "fleet"}),
    task("List the project's main folder.", "list_directory", {}, {"path": "/"}),
    task("Find all INI files.", "find_files", {"pattern": R(r"(\*\*/)?\*?\.ini")}),
    task("Is there a file named animals.txt, and where?", "find_files", {"pattern": R(r"(\*\*/)?animals\.txt")}),
    task(
        "Look for Python files in fleet.",
        "find_files",
        {"pattern": R(r"(\*\*/)?\*\.py"), "path": "fleet"},
        {"pattern": R(r"fleet/(\*\*/)?\*\.py")},
    ),
    task("Display rules/luggage.txt.", "read_file", {"path": "rules/luggage.txt"}),
    task("What is in the file records/march.log?", "read_file", {"path": "records/march.log"}),
    task("Who is the author according to ferry.toml?", "read_file", {"path": "ferry.toml"}),
    task("Show me the first 4 lines of fleet/engine.py.", "read_file", {"path": "fleet/engine.py", "lines": 4}),
    task("Which lines mention the propeller?", "search_code", {"text": "propeller"}),
    task("Where is the function load_limit defined?", "search_code", {"text": R(r"(def )?load_limit(\()?")}),
    task("Search the folder rules for the word basket.", "search_code", {"text": "basket", "path": "rules"}),
    task("In which files is POWER_KW used?", "search_code", {"text": "POWER_KW"}),
    task("What Python packages do I have installed?", "list_packages", {}),
    task("Is pandas installed on this machine?", "list_packages", {"prefix": "pandas"}),
    task("What version of certifi is installed?", "list_packages", {"prefix": "certifi"}),
    task("Which version does Python have here?", "get_python_info", {}),
    task("Tell me the operating system that Python runs on.", "get_python_info", {}),
    task("What is 58 times 23?", "calculate", {"expression": Value(1334)}),
    task("How much is 8 % of 450?", "calculate", {"expression": Value(36)}),
    task("Divide 918 by 27.", "calculate", {"expression": Value(34)}),
    task("What time is it in Madrid now?", "get_time", {"zone": "Europe/Madrid"}),
    task("Give me the current time in Singapore.", "get_time", {"zone": "Asia/Singapore"}),
    task("What tables are in the database?", "list_tables", {}),
    task("Describe the columns of the captains table.", "table_schema", {"table": "captains"}),
    task("What is the structure of the table crossings?", "table_schema", {"table": "crossings"}),
    task("Show all rows of the vessels table.", "read_records", {"table": "vessels"}),
    task(
        "List the crossings whose weather is storm.",
        "read_records",
        {"table": "crossings", "filters": {"weather": "storm"}},
    ),
    task("Show 2 rows of the crossings table.", "read_records", {"table": "crossings", "limit": 2}),
    task("Hey, good afternoon!"),
    task("Many thanks for your help."),
    task("What kinds of things can you help me with?"),
    task("Tell me a riddle."),
    task("How do you say 'good evening' in French?"),
    task("Name three colours of the rainbow."),
)
LOOPS = (
    LoopTask("Which file tells about the propeller, and who replaced it?", (r"march\.log", r"Osman")),
    LoopTask(
        "In which file is the class DieselEngine defined, and what is POWER_KW there?", (r"engine\.py", r"\b820\b")
    ),
    LoopTask("Find the file about animals and say what it costs to bring a cat.", (r"\b3\b",)),
    LoopTask("Read plans/summer.ini and compute how many crew members work per day.", (r"\b126\b",)),
    LoopTask("How many crossings are there in 30 days according to plans/winter.ini?", (r"\b180\b",)),
    LoopTask("Take the radio channel from HARBOUR.md and multiply it by 3.", (r"\b216\b",)),
    LoopTask("What time is it in Helsinki and in Toronto?", (hour("Europe/Helsinki"), hour("America/Toronto"))),
    LoopTask(
        "Which versions of h11 and packaging are installed?",
        (re.escape(version("h11")), re.escape(version("packaging"))),
    ),
    LoopTask("What is the name of the captain of crossing 903?", (r"Ingrid",), (r"Paolo",)),
    LoopTask("Which vessel made crossing 902, and how many seats does it have?", (r"Puffin", r"\b85\b")),
    LoopTask(
        "How many passengers had crossing 900, and how many would 4 such crossings have?", (r"\b212\b", r"\b848\b")
    ),
    LoopTask("Which table has the most rows, and what are its columns?", (r"crossings", r"passengers", r"weather")),
)
