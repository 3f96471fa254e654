"""Models served by Ollama over its own chat API, as a provider for nr-llm."""
