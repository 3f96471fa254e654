"""
What codecs of most services have in common, for whoever writes one: `nr_llm.providers` says what a codec is.

`access` says how a service is reached and `service` makes a provider of that and a codec; `frames` and `sse` cut
streams, `reading` takes replies apart, `calls` and `names` make calls of their parts, `turns` puts results together,
`faults` and `delays` make errors of what a service says, `json` encodes.
"""
