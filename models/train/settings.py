"""The sizes in which the recipe runs. `tiny` rehearses it, `cpu` is for two
cores and four hours, `gpu` for half an hour of a large GPU."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stage:
    """A part of the training, and how hard its questions are."""

    name: str
    rows: int
    room: int  # tokens of a row
    until: float  # share of the training at which it ends
    chunks: tuple = (1, 2, 2, 3, 3, 3, 4)  # of a context: one of these
    facts: tuple = (1, 1, 2, 2, 3)  # of a chunk
    words: tuple = (12, 45)  # of a chunk, from and to
    refusals: float = 0.20  # share of questions that nothing answers
    other: float = 0.17  # share of documents that are abstracts and predictions


@dataclass(frozen=True)
class Settings:
    name: str
    # the language model
    vocabulary: int = 4096
    width: int = 256
    layers: int = 8
    heads: int = 4
    heads_kv: int = 2
    feed_forward: int = 384
    context: int = 2048
    # its training, in stages
    stages: tuple = ()
    batch_tokens: int = 5120
    rate_matrix: float = 0.005
    rate_vector: float = 0.001
    # the real text it is mixed with
    mails: int = 12_000
    # the encoder
    encoder_width: int = 256
    encoder_words: int = 14_000
    encoder_hashed: int = 8192
    encoder_steps: int = 3000

    @property
    def head_width(self):
        return self.width // self.heads


def stages(first, short, long):
    """Few facts in little text first: finding comes before telling apart."""
    return (
        Stage("first", first, 768, 0.25, (1, 1, 1, 2), (1, 1, 2), (8, 24), 0.08, 0.05),
        Stage("short", short, 1024, 0.65, other=0.15),
        Stage("long", long, 1280, 1.0, words=(40, 115), other=0.20),
    )


CPU = Settings("cpu", stages=stages(30_000, 37_000, 26_000))
GPU = replace(
    CPU, name="gpu", vocabulary=8192, width=512, heads=8, feed_forward=1408,
    stages=stages(300_000, 500_000, 400_000), batch_tokens=65_536, mails=34_000,
)
TINY = replace(
    CPU, name="tiny", vocabulary=640, width=64, feed_forward=128,
    stages=stages(64, 64, 32), batch_tokens=2048, mails=0,
    encoder_width=64, encoder_words=800, encoder_hashed=256, encoder_steps=40,
)
ALL = {s.name: s for s in (TINY, CPU, GPU)}
