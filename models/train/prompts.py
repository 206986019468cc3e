"""The prompts that the product sends, word by word. The engine tokenises each
segment on its own; so does the recipe."""

INSTRUCTIONS = "You answer from the user's own documents. If they do not say, reply: I don't know.\n\n"
REFUSAL = "I don't know."

ABSTRACT = (
    "Please summarize the following text into a sentence that captures the key events and key concepts: {text}. "
    "Focus only on the essential core content and main ideas. Do NOT include any other text or explanations."
)

# Figures 27 and 28 of the paper.
FROM_KNOWLEDGE = (
    "You are a smartphone AI assistant that helps users by checking their {kind} to answer questions. "
    "Here is some abstract of the content: {abstract}. Think about what questions users are most likely to ask "
    "regarding this content in their daily life. The user might ask two kind of questions about their {kind}, such "
    "as: 1. General questions. Such as \"What is the main topic of the {kind} recorded on XXX?\". 2. Detailed "
    "questions. Such as \"What activities did the user mention doing on XXX day?\". Now guess {count} questions that "
    "users might ask. Provide them in this format: '1. ...?; 2. ...?; 3. ...?' without any other text or explanations."
)
FROM_HISTORY = (
    "You are a smartphone AI assistant that helps users by checking their {kind} to answer questions. "
    "Here is their recent query history: {history}. Generate another {count} questions users might ask. Carefully "
    "analyze and mirror the language style, tone, formality level, and interests shown in the examples. Please "
    "provide them in this format: '1. ...?; 2. ...?; 3. ...?' Do not repeat the examples. Do not include any other "
    "text or explanations, just the questions."
)
KINDS = ["personal emails", "daily dialog", "meeting record", "notes"]


def chunk(title, source, date, text):
    """A chunk as the knowledge bank renders it."""
    about = ", ".join(x for x in (source, date) if x)
    head = f"### {title} ({about})" if about else f"### {title}"
    return f"{head}\n{text}\n\n"


class Frame:
    """ChatML, cut where the engine cuts it."""

    def __init__(self, tokenizer):
        self.encode = tokenizer.encode
        self.start, self.end = tokenizer.turn_start, tokenizer.turn_end

    def system(self):
        return [self.start, *self.encode("system\n"), *self.encode(INSTRUCTIONS)]

    def question(self, text):
        """Behind the instructions and chunks."""
        return [self.end, *self.encode("\n"), *self.lone(text)]

    def lone(self, text):
        user = [self.start, *self.encode("user\n"), *self.encode(text), self.end, *self.encode("\n")]
        return [*user, self.start, *self.encode("assistant\n")]

    def answer(self, text):
        """Begins with a space, so that its first token is the one inside a text."""
        return [*self.encode(" " + text), self.end]

    def follow_up(self, text):
        """A next turn behind an answer."""
        return [*self.encode("\n"), *self.lone(text)]
