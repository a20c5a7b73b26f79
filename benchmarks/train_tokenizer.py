"""Train the bundled tokenizer: byte-level BPE over permissively licensed texts given on the command line.

    python benchmarks/train_tokenizer.py TEXT_OR_JSON... -o data/tokenizer/bpe.json.gz

Beside the texts it learns the characters of the first level of GB 2312 and of the kana, so that a common
Chinese or Japanese character is about one token, as it is for the tokenizers of current models.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 16_000
HANZI_ROWS = range(0xB0, 0xD8)  # level 1 of GB 2312: the 3,755 most used characters
TIMES = 30  # how often a character is repeated to be learned whole


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("data/tokenizer/bpe.json.gz"))
    given = parser.parse_args()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts(given.files), *characters()], trainer)
    packed = gzip.compress(tokenizer.to_str().encode("utf-8"), 9, mtime=0)
    given.output.write_bytes(packed)
    print(f"{given.output}: {tokenizer.get_vocab_size():,} tokens, {len(packed):,} bytes")


def texts(files: list[Path]) -> Iterator[str]:
    """Give the text of each file; of JSON every text in it, at any depth."""
    for path in files:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
        if ".json" in path.suffixes:
            yield from _texts_in(json.loads(text))
        else:
            yield text


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts_in(one)


def characters() -> Iterator[str]:
    """Give each common Chinese character and each kana as words of their own."""
    hanzi = [
        bytes([row, cell]).decode("gb2312", "ignore") for row in HANZI_ROWS for cell in range(0xA1, 0xFF)
    ]
    kana = [chr(code) for code in range(0x3041, 0x30FF)]
    marks = list("，。！？；：、（）《》“”")
    for char in filter(None, [*hanzi, *kana, *marks]):
        yield " 1".join([char] * TIMES)  # a digit between keeps characters from joining


if __name__ == "__main__":
    main()
