"""A developer's machine: the tools and tasks whose score is quoted; no prompt is ever tuned on them."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from tests.local_eval.scoring import EvalTool, LoopTask, Value, arithmetic, closed, task

FILES = {
    "README.md": "Shop, a small web shop.\nStart it with: python -m shop --port 8080\n",
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
PACKAGES = {
    "attrs": "26.1.0",
    "click": "8.5.1",
    "httpx": "0.28.1",
    "numpy": "2.4.0",
    "pytest": "9.2.0",
    "rich": "15.0.0",
}
TIMES = {
    "utc": "2027-02-10 12:30",
    "europe/berlin": "2027-02-10 13:30",
    "asia/tokyo": "2027-02-10 21:30",
    "america/new_york": "2027-02-10 07:30",
    "asia/kolkata": "2027-02-10 18:00",
}
TABLES: dict[str, list[dict[str, Any]]] = {
    "customers": [
        {"id": 1, "name": "Ada Nord", "city": "Kiel", "email": "ada@example.org"},
        {"id": 2, "name": "Bo Lind", "city": "Malmö", "email": "bo@example.org"},
        {"id": 3, "name": "Cleo Marsh", "city": "York", "email": "cleo@example.org"},
    ],
    "products": [
        {"id": 10, "name": "teapot", "price": 24.0, "stock": 7},
        {"id": 11, "name": "cup", "price": 6.5, "stock": 120},
        {"id": 12, "name": "kettle", "price": 49.0, "stock": 0},
    ],
    "orders": [
        {"id": 100, "customer_id": 2, "product_id": 11, "quantity": 6, "status": "paid"},
        {"id": 101, "customer_id": 3, "product_id": 10, "quantity": 1, "status": "open"},
        {"id": 102, "customer_id": 1, "product_id": 12, "quantity": 2, "status": "open"},
    ],
}


def list_directory(path: str = ".") -> str:
    base = _clean(path)
    inside = [name for name in FILES if base == "" or name.startswith(base + "/")]
    if not inside:
        return f"No folder {path}"
    below = [name[len(base) + 1 if base else 0 :] for name in inside]
    return "\n".join(dict.fromkeys(name.split("/")[0] + ("/" if "/" in name else "") for name in below))


def find_files(pattern: str, path: str = ".") -> str:
    base = _clean(path)
    hits = [
        n for n in FILES if n.startswith(base) and fnmatch.fnmatch(n.rsplit("/", 1)[-1], pattern.rsplit("/", 1)[-1])
    ]
    return "\n".join([f"{len(hits)} files", *hits])


def read_file(path: str, first_line: int = 1, lines: int = 200) -> str:
    text = FILES.get(_clean(path))
    if text is None:
        return f"No file {path}"
    return "\n".join(text.splitlines()[first_line - 1 : first_line - 1 + lines])


def search_code(text: str, path: str = ".") -> str:
    base = _clean(path)
    hits = [
        f"{name}:{number}: {line.strip()}"
        for name, content in FILES.items()
        if name.startswith(base)
        for number, line in enumerate(content.splitlines(), 1)
        if text.casefold() in line.casefold()
    ]
    return "\n".join(hits) or f"No line holds {text}"


def list_packages(name_contains: str = "") -> str:
    hits = {n: v for n, v in PACKAGES.items() if name_contains.casefold() in n}
    return "\n".join([f"{len(hits)} packages", *(f"{n} {v}" for n, v in hits.items())])


def get_python_info() -> str:
    return "Python 3.12.4 (CPython), Linux x86_64, 8 processors, virtual environment: yes"


def calculate(expression: str) -> str:
    value = arithmetic(expression)
    return f"Not an expression of numbers: {expression}" if value is None else f"{expression} = {value:g}"


def get_time(timezone: str = "UTC") -> str:
    return f"{timezone}: {TIMES[timezone.casefold()]}" if timezone.casefold() in TIMES else f"No time zone {timezone}"


def list_tables() -> str:
    return "\n".join(f"{name} ({len(rows)} rows)" for name, rows in TABLES.items())


def table_schema(table: str) -> str:
    rows = TABLES.get(table.casefold())
    if rows is None:
        return f"No table {table}"
    return "\n".join(f"{column} {type(value).__name__}" for column, value in rows[0].items())


def read_records(table: str, filters: dict[str, Any] | None = None, limit: int = 20) -> str:
    rows = TABLES.get(table.casefold())
    if rows is None:
        return f"No table {table}"
    for column in filters or {}:
        if column not in rows[0]:
            return f"No column {column} in {table}; it has {', '.join(rows[0])}"
    hits = [r for r in rows if all(str(r[c]).casefold() == str(v).casefold() for c, v in (filters or {}).items())][
        :limit
    ]
    return "\n".join([f"{len(hits)} rows", *(", ".join(f"{c}={v}" for c, v in row.items()) for row in hits)])


def _clean(path: str) -> str:
    return path.strip().removeprefix("./").strip("/").removeprefix(".")


TEXT = {"type": "string"}
FOLDER = {"type": "string", "description": "folder, from the project's root", "default": "."}
SCALAR = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
TOOLS = (
    EvalTool(
        "list_directory", "List the files and folders in a folder.", closed(path=FOLDER), list_directory, {"path": "."}
    ),
    EvalTool(
        "find_files",
        "Find files by their name.",
        closed("pattern", pattern={**TEXT, "description": "such as *.md"}, path=FOLDER),
        find_files,
        {"path": "."},
    ),
    EvalTool(
        "read_file",
        "Read a text file.",
        closed(
            "path",
            path={**TEXT, "description": "file, from the project's root"},
            first_line={"type": "integer", "minimum": 1, "default": 1},
            lines={"type": "integer", "minimum": 1, "maximum": 1000, "default": 200, "description": "how many lines"},
        ),
        read_file,
        {"first_line": 1, "lines": 200},
    ),
    EvalTool(
        "search_code",
        "Find the lines that contain a text, in all files.",
        closed("text", text=TEXT, path=FOLDER),
        search_code,
        {"path": "."},
    ),
    EvalTool(
        "list_packages",
        "List the installed Python packages with their versions.",
        closed(name_contains={**TEXT, "description": "only packages whose name contains this", "default": ""}),
        list_packages,
        {"name_contains": ""},
    ),
    EvalTool("get_python_info", "Tell which Python runs here, on which system.", closed(), get_python_info),
    EvalTool(
        "calculate",
        "Compute an arithmetic expression.",
        closed("expression", expression={**TEXT, "description": "such as (2 + 3) * 4"}),
        calculate,
    ),
    EvalTool(
        "get_time",
        "Tell the current date and time in a time zone.",
        closed(timezone={**TEXT, "description": "IANA name such as Europe/Rome", "default": "UTC"}),
        get_time,
        {"timezone": "UTC"},
    ),
    EvalTool("list_tables", "List the tables of the database.", closed(), list_tables),
    EvalTool("table_schema", "List the columns of a database table.", closed("table", table=TEXT), table_schema),
    EvalTool(
        "read_records",
        "Read rows of a database table.",
        closed(
            "table",
            table=TEXT,
            filters={
                "type": "object",
                "additionalProperties": SCALAR,
                "description": "column: value the rows must have",
            },
            limit={"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
        ),
        read_records,
        {"limit": 20, "filters": {}},
    ),
)

R = re.compile
TASKS = (
    task("What is in the folder docs?", "list_directory", {"path": "docs"}),
    task("Show me the files in src.", "list_directory", {"path": "src"}),
    task("What does the project's root folder contain?", "list_directory", {}, {"path": "/"}),
    task("Which files are in tests?", "list_directory", {"path": "tests"}),
    task("Find all Markdown files.", "find_files", {"pattern": R(r"(\*\*/)?\*\.md")}),
    task("Where is the file mailer.py?", "find_files", {"pattern": R(r"(\*\*/|\*)?mailer\.py")}),
    task("Are there any TOML files in config?", "find_files", {"pattern": R(r"(\*\*/)?\*\.toml"), "path": "config"}),
    task("Find every Python file in src.", "find_files", {"pattern": R(r"(\*\*/)?\*\.py"), "path": "src"}),
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
    task("Which version of httpx is installed?", "list_packages", {"name_contains": "httpx"}),
    task("Is numpy installed?", "list_packages", {"name_contains": "numpy"}),
    task("Which Python version is running?", "get_python_info", {}),
    task("What operating system is this Python running on?", "get_python_info", {}),
    task("What is 37 * 48?", "calculate", {"expression": Value(1776)}),
    task("Compute 15 % of 260.", "calculate", {"expression": Value(39)}),
    task("How much is 1250 divided by 8?", "calculate", {"expression": Value(156.25)}),
    task("What is 2 to the power of 20?", "calculate", {"expression": Value(1048576)}),
    task("Add 19.99, 5.01 and 25.", "calculate", {"expression": Value(50)}),
    task("What time is it in Tokyo?", "get_time", {"timezone": "Asia/Tokyo"}),
    task("What is the current time in Berlin?", "get_time", {"timezone": "Europe/Berlin"}),
    task("Tell me the date and time in UTC.", "get_time", {}, {"timezone": "UTC"}),
    task("How late is it in New York right now?", "get_time", {"timezone": "America/New_York"}),
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
    LoopTask("Which time is it in Tokyo and in Berlin?", (r"21:30", r"13:30")),
    LoopTask(
        "How many rows does the biggest table of the database have, and which columns?",
        (r"\b(3|three)\b", r"name|status|price"),
    ),
    LoopTask("What is the price of product 11, and what do 6 of them cost?", (r"6[.,]5", r"\b39\b")),
    LoopTask("What is the name of the customer of order 101?", (r"Cleo",), (r"Bo Lind", r"Ada")),
    LoopTask("Which product was ordered in order 100?", (r"\bcup",), (r"teapot", r"kettle")),
    LoopTask(
        "How many kilograms may 3 parcels weigh if each has the maximum weight from config/limits.toml?", (r"\b75\b",)
    ),
    LoopTask("Compare the installed version of rich with that of click: which are they?", (r"15\.0", r"8\.5")),
    LoopTask("Find out on which port the shop starts according to README.md and add 1000 to it.", (r"9080|9,080",)),
)
