"""nr-llm: tool-calling conversations with language models, from a small core and installable plugins."""

from nr_llm.actors import Actor
from nr_llm.artifacts import ArtifactType, ToolArtifact
from nr_llm.messages import Attachment, ChatMessage, Role, ToolCall
from nr_llm.results import ToolResult
from nr_llm.tools import Tool, ToolContext, ToolEffect, Toolset, tool
from nr_llm.errors import ToolError
