"""Claude models over the Anthropic Messages API, as a provider for nr-llm."""
