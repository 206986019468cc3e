"""From text to rows of the encoder's table: the rules of llm/static/FORMAT.md."""

import re
import unicodedata

MARK = "\u2581"
SINGLE = re.compile("[\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]")
JAMO = re.compile("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")
ASCII = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")


def words(text):
    if text.isascii():
        return ASCII.findall(text.lower())
    text = "".join(unicodedata.normalize("NFKD", c) for c in text)
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    text = JAMO.sub(lambda m: unicodedata.normalize("NFC", m[0]), text)
    out, run = [], ""
    for c in "".join(c.lower() for c in text) + " ":
        if unicodedata.category(c)[0] in "LN" and not SINGLE.match(c):
            run += c
            continue
        out += [run] if run else []
        out += [] if c.isspace() else [c]
        run = ""
    return out


class Rows:
    """The rows of a text, for one vocabulary."""

    def __init__(self, tokens, hashed, limit):
        self.tokens = {t: i for i, t in enumerate(tokens)}
        self.hashed, self.limit = hashed, limit
        self.longest = max(map(len, tokens))
        self._words = {}

    def __call__(self, text):
        return [r for w in words(text) for r in self.word(w)][: self.limit]

    def word(self, word):
        if word not in self._words:
            self._words[word] = self._cut(word)
        return self._words[word]

    def _cut(self, word):
        rest, pieces = MARK + word, []
        while rest:
            n = next((n for n in range(min(len(rest), self.longest), 0, -1) if rest[:n] in self.tokens), 0)
            if n == 0:
                pieces = []
                break
            pieces.append(self.tokens[rest[:n]])
            rest = rest[n:]
        if self.hashed and (rest or len(pieces) != 1):
            h = 2166136261
            for b in word.encode():
                h = (h ^ b) * 16777619 & 0xFFFFFFFF
            pieces.append(len(self.tokens) + h % self.hashed)
        return pieces
