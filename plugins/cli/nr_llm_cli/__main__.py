"""The command's entry: `nr-llm`, or `python -m nr_llm_cli`."""

from __future__ import annotations

import sys

from nr_llm_cli.root import program


def main() -> int:
    """Run the command line of this process and return the exit code."""
    code: int = program.main(standalone_mode=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
