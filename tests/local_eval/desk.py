"""An office desk: the tools and tasks that the prompt may be tuned on; its score is not the one to quote."""

from __future__ import annotations

import re
from pathlib import Path

from nr_llm import Tool

from tests.local_eval.scoring import EvalTool, LoopTask, closed, task

EVENTS = {
    "2027-03-04": [("09:30", "Stand-up"), ("14:00", "Budget review")],
    "2027-03-05": [("11:00", "Interview with Mona Berg")],
    "2027-03-08": [],
}
CONTACTS = {
    "mona berg": "Mona Berg: mona.berg@example.org, +47 22 33 44 55, Oslo",
    "ravi patel": "Ravi Patel: ravi@example.org, +91 80 1234 5678, Bengaluru",
    "lena fox": "Lena Fox: lena.fox@example.org, +44 20 7946 0102, London",
}
PRODUCTS = {"desk lamp": 39.5, "office chair": 189.0, "monitor": 249.0, "keyboard": 59.0}
TICKETS = {
    501: ("open", "Ravi Patel", "Printer on floor 3 is jammed"),
    502: ("closed", "Mona Berg", "Password reset"),
    503: ("open", "Lena Fox", "Laptop does not wake up"),
    504: ("open", "Mona Berg", "VPN is slow"),
}
ORDERS = {
    "A-17": ("Lena Fox", "office chair", 2, "shipped"),
    "A-18": ("Ravi Patel", "monitor", 1, "waiting for payment"),
    "A-19": ("Mona Berg", "keyboard", 4, "delivered"),
}


def _events(date: str) -> str:
    if date not in EVENTS:
        return f"No calendar for {date}"
    return "\n".join(f"{at} {title}" for at, title in EVENTS[date]) or f"No events on {date}"


def _add_event(title: str, date: str, time: str) -> str:
    return f"Added '{title}' on {date} at {time}"


def _contact(name: str) -> str:
    hits = [text for key, text in CONTACTS.items() if name.casefold() in key]
    return "\n".join(hits) or f"No contact named {name}"


def _price(product: str) -> str:
    price = PRODUCTS.get(product.casefold())
    return f"No product named {product}" if price is None else f"{product}: {price} EUR each"


def _tickets(status: str = "any", customer: str = "") -> str:
    rows = [
        f"{number}: {state}, {who}, {text}"
        for number, (state, who, text) in TICKETS.items()
        if status in ("any", state) and customer.casefold() in who.casefold()
    ]
    return "\n".join([f"{len(rows)} tickets", *rows])


def _ticket(number: int) -> str:
    if number not in TICKETS:
        return f"No ticket {number}"
    state, who, text = TICKETS[number]
    return f"Ticket {number}: {text}. Status: {state}. Reported by: {who}"


def _orders(customer: str) -> str:
    rows = [
        f"{key}: {n} x {what}, {state}"
        for key, (who, what, n, state) in ORDERS.items()
        if customer.casefold() in who.casefold()
    ]
    return "\n".join(rows) or f"No orders of {customer}"


def _order(order: str) -> str:
    if order.upper() not in ORDERS:
        return f"No order {order}"
    who, what, n, state = ORDERS[order.upper()]
    return f"Order {order.upper()} of {who}: {n} x {what}, {state}"


def _convert(amount: float, source: str, target: str) -> str:
    rates = {"EUR": 1.0, "USD": 1.1, "NOK": 11.5, "INR": 95.0, "GBP": 0.85}
    return f"{amount} {source} = {round(amount / rates[source] * rates[target], 2)} {target}"


def _multiply(a: float, b: float) -> str:
    return f"{a} times {b} is {round(a * b, 4)}"


TEXT = {"type": "string"}
MONEY = {"type": "string", "enum": ["EUR", "USD", "NOK", "INR", "GBP"]}
TOOLS = (
    EvalTool(
        "list_events",
        "List the calendar events of one day.",
        closed("date", date={"type": "string", "format": "date", "description": "as YYYY-MM-DD"}),
        _events,
    ),
    EvalTool(
        "add_event",
        "Put an event into the calendar.",
        closed(
            "title",
            "date",
            "time",
            title=TEXT,
            date={"type": "string", "format": "date", "description": "as YYYY-MM-DD"},
            time={"type": "string", "description": "as HH:MM, 24 hours"},
        ),
        _add_event,
    ),
    EvalTool(
        "find_contact", "Find a person's e-mail address, phone number and city.", closed("name", name=TEXT), _contact
    ),
    EvalTool("product_price", "Get the price of one product in EUR.", closed("product", product=TEXT), _price),
    EvalTool(
        "search_tickets",
        "List support tickets, all or some of them.",
        closed(
            status={"type": "string", "enum": ["open", "closed", "any"], "default": "any"},
            customer={"type": "string", "description": "name of who reported it"},
        ),
        _tickets,
    ),
    EvalTool("get_ticket", "Read one support ticket.", closed("number", number={"type": "integer"}), _ticket),
    EvalTool("list_orders", "List the orders of a customer.", closed("customer", customer=TEXT), _orders),
    EvalTool(
        "get_order",
        "Read one order by its id.",
        closed("order", order={"type": "string", "description": "such as A-12"}),
        _order,
    ),
    EvalTool(
        "convert_currency",
        "Convert an amount of money.",
        closed("amount", "source", "target", amount={"type": "number"}, source=MONEY, target=MONEY),
        _convert,
    ),
    EvalTool(
        "multiply", "Multiply two numbers.", closed("a", "b", a={"type": "number"}, b={"type": "number"}), _multiply
    ),
)


def tools(folder: Path) -> list[Tool]:
    """Return the tools."""
    return [Tool.from_schema(one.name, one.description, one.parameters, one.function) for one in TOOLS]


R = re.compile
TASKS = (
    task("What is on my calendar on 2027-03-04?", "list_events", {"date": "2027-03-04"}),
    task("Am I free on 8 March 2027?", "list_events", {"date": "2027-03-08"}),
    task(
        "Schedule a dentist visit for 2027-03-09 at 3 pm.",
        "add_event",
        {"title": R("(?i).*dentist.*"), "date": "2027-03-09", "time": "15:00"},
    ),
    task("What is Ravi's phone number?", "find_contact", {"name": R("(?i)ravi( patel)?")}),
    task("I need the e-mail address of Lena Fox.", "find_contact", {"name": "Lena Fox"}),
    task("How much is a monitor?", "product_price", {"product": "monitor"}),
    task("Tell me the price of the office chair.", "product_price", {"product": "office chair"}),
    task("Which support tickets are open?", "search_tickets", {"status": "open"}),
    task(
        "Show all the tickets Mona Berg has reported.",
        "search_tickets",
        {"customer": "Mona Berg"},
        {"customer": "Mona Berg", "status": "any"},
    ),
    task("Are there closed tickets of Ravi Patel?", "search_tickets", {"customer": "Ravi Patel", "status": "closed"}),
    task("What is ticket 503 about?", "get_ticket", {"number": 503}),
    task("Who reported ticket 501?", "get_ticket", {"number": 501}),
    task("What has Lena Fox ordered?", "list_orders", {"customer": "Lena Fox"}),
    task("Has order A-18 been shipped?", "get_order", {"order": "A-18"}),
    task(
        "Convert 250 US dollars to Norwegian kroner.",
        "convert_currency",
        {"amount": 250, "source": "USD", "target": "NOK"},
    ),
    task("How many pounds is 80 euros?", "convert_currency", {"amount": 80, "source": "EUR", "target": "GBP"}),
    task("What is 37 times 48?", "multiply", {"a": 37, "b": 48}),
    task("A box holds 24 pens; how many pens are in 15 boxes?", "multiply", {"a": 24, "b": 15}, {"a": 15, "b": 24}),
    task("Good morning!"),
    task("Thanks, that was helpful."),
    task("What can you do for me?"),
    task("Write one sentence about the sea."),
)
LOOPS = (
    LoopTask("What do 3 office chairs cost in total?", (r"567",)),
    LoopTask("How much is a keyboard in US dollars?", (r"64[.,]9",)),
    LoopTask("In which city does the person live who reported ticket 503?", (r"London",)),
    LoopTask("What is the e-mail address of the customer of order A-18?", (r"ravi@example\.org",)),
    LoopTask("What is the total price of order A-19?", (r"236",)),
    LoopTask("Who do I interview on 2027-03-05, and what is that person's phone number?", (r"Mona", r"22 ?33 ?44 ?55")),
    LoopTask("How many tickets are open, and who reported the one about the VPN?", (r"\b(3|three)\b", r"Mona")),
    LoopTask(
        "Move my budget review: put it on 2027-03-08 at the same time as on 2027-03-04.",
        (r"2027-03-08|8 March|March 8",),
        (),
        ("add_event:14:00",),
    ),
    LoopTask("What is in Lena Fox's order, and what does one piece of it cost?", (r"chair", r"189")),
    LoopTask("What do a monitor and an office chair cost?", (r"249", r"189")),
)
