"""The sizes in which the recipe runs. `tiny` rehearses it, `cpu` is for two
cores and two hours, `gpu` for half an hour of a large GPU."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    name: str
    # the language model
    vocabulary: int = 4096
    width: int = 256
    layers: int = 6
    heads: int = 4
    heads_kv: int = 2
    feed_forward: int = 512
    context: int = 2048
    # its training: rows of `short` tokens, then rows of `long` ones
    short: int = 768
    long: int = 1024
    short_rows: int = 21_000
    long_rows: int = 11_000
    batch_tokens: int = 8192
    rate_matrix: float = 0.02
    rate_vector: float = 0.003
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


CPU = Settings("cpu")
GPU = replace(
    CPU, name="gpu", vocabulary=8192, width=512, layers=8, heads=8, heads_kv=2, feed_forward=1408,
    short_rows=900_000, long_rows=500_000, batch_tokens=65_536, mails=34_000,
)
TINY = replace(
    CPU, name="tiny", vocabulary=640, width=64, layers=4, heads=4, heads_kv=2, feed_forward=128,
    short_rows=160, long_rows=32, batch_tokens=2048, mails=0,
    encoder_width=64, encoder_words=800, encoder_hashed=256, encoder_steps=40,
)
ALL = {s.name: s for s in (TINY, CPU, GPU)}
