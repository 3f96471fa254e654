"""A developer's machine: the shipped tools, on a small project and database; the score of these tasks is quoted."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from importlib.metadata import version
from pathlib import Path
from zoneinfo import ZoneInfo

import attrs
import nr_llm_sql
import nr_llm_tools
from nr_llm import PluginHost, Runtime, Tool

from tests.local_eval.scoring import LoopTask, Value, task

FILES = {
    "README.md": "# Shop\n\nA small web shop. Start it with: python -m shop --port 8080\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "2.4.1"\nrequires-python = ">=3.11"\n',
    "docs/install.md": "Install with pip install shop.\nThe database is created on first start.\n",
    "docs/backup.md": "Backups run every night at 03:15.\nThey are kept for 14 days.\n",
    "src/app.py": "from src.tax import add_tax\n\ndef main():\n    print(add_tax(100))\n",
    "src/tax.py": "RATE = 0.19\n\ndef add_tax(amount):\n    return amount * (1 + RATE)\n",
    "src/mailer.py": "def send_invoice(address):\n    connect('smtp.example.net', 587)\n",
    "config/limits.toml": "max_items = 40\nmax_weight_kg = 25\n",
    "tests/test_tax.py": "from src.tax import add_tax\n\ndef test_add_tax():\n    assert add_tax(100) == 119\n",
    "notes/todo.txt": "call the printer company\nrenew the certificate before 12 May\n",
}
DATABASE = """
create table customers (id integer primary key, name text, city text, email text);
create table products (id integer primary key, name text, price real, stock integer);
create table orders (id integer primary key, customer_id integer references customers, product_id integer
    references products, quantity integer, status text);
insert into customers values (1, 'Ada Nord', 'Kiel', 'ada@example.org'), (2, 'Bo Lind', 'Lund', 'bo@example.org'),
    (3, 'Cleo Marsh', 'York', 'cleo@example.org');
insert into products values (10, 'teapot', 24.0, 7), (11, 'cup', 6.5, 120), (12, 'kettle', 49.0, 0),
    (13, 'spoon', 2.0, 300);
insert into orders values (100, 2, 11, 6, 'paid'), (101, 3, 10, 1, 'open'), (102, 1, 12, 2, 'open');
"""


NAMES = (
    "list_directory",
    "find_files",
    "read_file",
    "search_code",
    "list_packages",
    "get_python_info",
    "calculate",
    "get_time",
    "list_tables",
    "table_schema",
    "read_records",
)
"""The tools that are offered: the same ones as ever, so that scores of different days can be compared."""


def tools(folder: Path) -> list[Tool]:
    """Return the shipped tools, with the project and the database in `folder`."""
    return furnished(folder, FILES, DATABASE)


def furnished(folder: Path, files: dict[str, str], database: str) -> list[Tool]:
    """Return the shipped tools for a project of these files and a database made by these statements."""
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with sqlite3.connect(folder / "data.sqlite") as connection:
        connection.executescript(database)
    places = {"NR_LLM_TOOLS_ROOT": str(folder / "project"), "NR_LLM_SQL_DATABASE": str(folder / "data.sqlite")}
    shipped = Runtime(PluginHost([nr_llm_tools, nr_llm_sql], environ=places)).tools()
    # The tasks name their tables; told to list them first, a model that does as it is told would be marked wrong.
    return [
        attrs.evolve(shipped[name], description=shipped[name].description.replace(" Call this first.", ""))
        for name in NAMES
    ]


def hour(zone: str) -> str:
    """Return a pattern for the present hour in a time zone, or the next one: an evaluation may take that long."""
    now = dt.datetime.now(ZoneInfo(zone))
    hours = (now.hour, (now.hour + 1) % 24)
    return "|".join(rf"\b0?{one}:|\b0?{one % 12 or 12}(:\d\d)? ?[ap]" for one in hours)


R = re.compile
TASKS = (
    task("What is in the folder docs?", "list_directory", {"path": "docs"}),
    task("Show me the files in src.", "list_directory", {"path": "src"}),
    task("What does the project's root folder contain?", "list_directory", {}, {"path": "/"}),
    task("Which files are in tests?", "list_directory", {"path": "tests"}),
    task("Find all Markdown files.", "find_files", {"pattern": R(r"(\*\*/)?\*\.md")}),
    task("Where is the file mailer.py?", "find_files", {"pattern": R(r"(\*\*/|\*)?mailer\.py")}),
    task(
        "Are there any TOML files in config?",
        "find_files",
        {"pattern": R(r"(\*\*/)?\*?\.toml"), "path": "config"},
        {"pattern": R(r"config/(\*\*/)?\*\.toml")},
    ),
    task(
        "Find every Python file in src.",
        "find_files",
        {"pattern": R(r"(\*\*/)?\*\.py"), "path": "src"},
        {"pattern": R(r"src/(\*\*/)?\*\.py")},
    ),
    task("Read notes/todo.txt.", "read_file", {"path": "notes/todo.txt"}),
    task("What does docs/backup.md say?", "read_file", {"path": "docs/backup.md"}),
    task("Show the first 2 lines of README.md.", "read_file", {"path": "README.md", "lines": 2}),
    task("Open config/limits.toml for me.", "read_file", {"path": "config/limits.toml"}),
    task("Which version of the project does pyproject.toml name?", "read_file", {"path": "pyproject.toml"}),
    task("Where is add_tax used?", "search_code", {"text": R(r"add_tax(\()?")}),
    task("In which file is send_invoice defined?", "search_code", {"text": R(r"(def )?send_invoice(\()?")}),
    task("Find the lines that contain the word certificate.", "search_code", {"text": "certificate"}),
    task("Search docs for the text database.", "search_code", {"text": "database", "path": "docs"}),
    task("Which Python packages are installed?", "list_packages", {}),
    task("How many packages are installed here?", "list_packages", {}),
    task("Which version of httpx is installed?", "list_packages", {"prefix": "httpx"}),
    task("Is numpy installed?", "list_packages", {"prefix": "numpy"}),
    task("Which Python version is running?", "get_python_info", {}),
    task("What operating system is this Python running on?", "get_python_info", {}),
    task("What is 37 * 48?", "calculate", {"expression": Value(1776)}),
    task("Compute 15 % of 260.", "calculate", {"expression": Value(39)}),
    task("How much is 1250 divided by 8?", "calculate", {"expression": Value(156.25)}),
    task("What is 2 to the power of 20?", "calculate", {"expression": Value(1048576)}),
    task("Add 19.99, 5.01 and 25.", "calculate", {"expression": Value(50)}),
    task("What time is it in Tokyo?", "get_time", {"zone": "Asia/Tokyo"}),
    task("What is the current time in Berlin?", "get_time", {"zone": "Europe/Berlin"}),
    task("Tell me the date and time in UTC.", "get_time", {}, {"zone": "UTC"}),
    task("How late is it in New York right now?", "get_time", {"zone": "America/New_York"}),
    task("Which tables does the database have?", "list_tables", {}),
    task("Show the database tables.", "list_tables", {}),
    task("What columns does the table customers have?", "table_schema", {"table": "customers"}),
    task("Describe the structure of the orders table.", "table_schema", {"table": "orders"}),
    task("Show all rows of the products table.", "read_records", {"table": "products"}),
    task("List the customers whose city is York.", "read_records", {"table": "customers", "filters": {"city": "York"}}),
    task("Show the orders with status open.", "read_records", {"table": "orders", "filters": {"status": "open"}}),
    task("Show me 5 rows of the customers table.", "read_records", {"table": "customers", "limit": 5}),
    task("Hi there!"),
    task("Thank you very much."),
    task("Who are you?"),
    task("Tell me a short joke."),
    task("Can you help me with something?"),
    task("Good night, see you tomorrow."),
    task("Translate 'good morning' into Spanish."),
    task("Give me a synonym for 'fast'."),
)
LOOPS = (
    LoopTask("In which file is add_tax defined, and what does that whole file contain?", (r"tax\.py", r"0\.19|RATE")),
    LoopTask("Find the file about backups and tell me how many days backups are kept.", (r"\b14\b",)),
    LoopTask("Look up the tax rate in src/tax.py and compute the tax on 250.", (r"47[.,]5",)),
    LoopTask(
        "Which file mentions the certificate, and by when must it be renewed?", (r"todo", r"12 May|May 12|12\. May")
    ),
    LoopTask("Which time is it in Tokyo and in Berlin?", (hour("Asia/Tokyo"), hour("Europe/Berlin"))),
    LoopTask(
        "How many rows does the biggest table of the database have, and which columns?",
        (r"\b(4|four)\b", r"price", r"stock"),
    ),
    LoopTask("What is the price of product 11, and what do 6 of them cost?", (r"6[.,]5", r"\b39\b")),
    LoopTask("What is the name of the customer of order 101?", (r"Cleo",), (r"Bo Lind", r"Ada")),
    LoopTask("Which product was ordered in order 100?", (r"\bcup",), (r"teapot", r"kettle")),
    LoopTask(
        "How many kilograms may 3 parcels weigh if each has the maximum weight from config/limits.toml?", (r"\b75\b",)
    ),
    LoopTask(
        "Which versions of attrs and of pluggy are installed?",
        (re.escape(version("attrs")), re.escape(version("pluggy"))),
    ),
    LoopTask("Find out on which port the shop starts according to README.md and add 1000 to it.", (r"9080|9,080",)),
)
