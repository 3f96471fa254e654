"""Prints, for each recorded service, how many cases were decoded, as what, and how many streams equal their whole."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Print the table."""
    sys.path.insert(0, str(ROOT))
    from nr_llm.errors import ProviderError
    from nr_llm.messages import ChatMessage
    from nr_llm.providers import HttpReply
    from nr_llm.requests import CompletionRequest
    from nr_llm_gemini import GeminiCodec
    from nr_llm_openai import COMPATIBLE, OPENAI, ChatCodec

    from tests.corpus.services import SERVICES, service_of
    from tests.corpus.traffic import Case
    from tests.support import shared_folder

    own = {"openai": ChatCodec(dialect=OPENAI), "openai_compat": ChatCodec(dialect=COMPATIBLE), "gemini": GeminiCodec()}
    request = CompletionRequest(model="m", messages=(ChatMessage.user("x"),))
    print(f"{'service':18}{'cases':>6}{'whole':>7}{'streams':>9}{'calls':>7}{'errors':>8}  kinds of error")
    for folder in sorted((*own, *SERVICES)):
        counts, kinds = Counter[str](), Counter[str]()
        for path in sorted((shared_folder() / "corpus" / "recorded" / folder).glob("*.json")):
            case = Case(folder, path)
            exchange = case.exchange
            codec = own.get(folder) or service_of(folder, exchange["endpoint_path"]).codec()
            counts["cases"] += 1
            try:
                if exchange["status"] >= 400:
                    raise codec.error(HttpReply(exchange["status"], exchange["response_headers"], case.body))
                if "response_sse" in exchange:
                    decoder = codec.decoder(request)
                    decoder.feed(case.body)
                    answer = decoder.finish()
                else:
                    answer = codec.decode(HttpReply(200, {}, case.body), request)
                counts["streams" if "response_sse" in exchange else "whole"] += 1
                counts["calls"] += len(answer.tool_calls or ())
            except ProviderError as error:
                counts["errors"] += 1
                kinds[type(error).__name__] += 1
        told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        columns = "".join(
            f"{counts[name]:>{width}}"
            for name, width in (("cases", 6), ("whole", 7), ("streams", 9), ("calls", 7), ("errors", 8))
        )
        print(f"{folder:18}{columns}  {told}")


if __name__ == "__main__":
    main()
