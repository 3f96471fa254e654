"""Google Gemini models over the generateContent API, as a provider for nr-llm."""
