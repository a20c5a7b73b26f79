"""Widgets bound to the selection: each shows and changes one of its fields, and so the URL."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.session import current_selection, keep
from ragtriage.data.analysis.retrieval_curves import LONGEST_K
from ragtriage.data.store.workspace import Run


def _keep_value(name: str, key: str, clear: Mapping[str, Any], options: Sequence[str] = ()) -> None:
    value = st.session_state[key]
    if options and isinstance(value, str) and value not in options:
        return  # the browser sends the old label of an option whose label has changed: nobody chose it
    keep(**{**clear, name: "" if value is None else value})


def _binding(
    name: str, clear: Mapping[str, Any], options: Sequence[str] = (), shown: str | None = None
) -> dict[str, Any]:
    """Return the widget arguments that bind it to one field of the selection."""
    key, value = f"pick_{name}", getattr(current_selection(), name)
    if options and value not in options:
        value = options[0] if shown is None else shown
    if options:  # always: where a run was cut short, the browser has the first option and would send it
        st.session_state[key] = value
    else:
        show_in(key, value)
    return {"key": key, "on_change": _keep_value, "args": (name, key, clear, options)}


def show_in(key: str, value: Any) -> None:
    """Set the value of a widget, unless it has it: setting it again would undo what the user is typing."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


_CURSOR = """<script>
(function find(left) {
  const field = document.querySelector(".st-key-%s :is(input, textarea)");
  if (!field) { if (left) setTimeout(find, 100, left - 1); return; }
  field.focus();
  field.addEventListener("keydown", event => {
    if (event.key === "Enter" && field.tagName === "INPUT") setTimeout(() => field.blur());
  });
})(20);
</script>"""


def put_cursor(key: str) -> None:
    """Put the cursor into the text box of a key, an identifier of the code; Enter leaves the box again."""
    st.html(_CURSOR % key, unsafe_allow_javascript=True)


def draw_tabs(tabs: Mapping[str, tuple[str, Callable[[], object]]], key: str, usual: str = "") -> None:
    """Draw the tabs of a page, of which only the open one is computed; the address names it.

    Args:
        tabs: word in the address -> label, and what draws the tab.
        key: of the widget.
        usual: word of the tab that is open where the address names none; the first by default.
    """
    labels = {word: label for word, (label, _) in tabs.items()}
    usual = usual or next(iter(labels))
    address, drawn_for = current_selection().tab, f"{key}_address"
    relabelled = st.session_state.get(key, labels[usual]) not in labels.values()
    if relabelled or st.session_state.get(drawn_for, "") != address:
        st.session_state[key] = labels.get(address, labels[usual])
    st.session_state[drawn_for] = address

    def opened() -> None:
        word = next((word for word, label in labels.items() if label == st.session_state[key]), usual)
        st.session_state[drawn_for] = "" if word == usual else word
        keep(tab=st.session_state[drawn_for])

    drawn = st.tabs(list(labels.values()), default=labels[usual], key=key, on_change=opened)
    for tab, (_, draw) in zip(drawn, tabs.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def draw_folded(title: str, key: str, draw: Callable[[], object]) -> None:
    """Draw a section that is folded at first, and computed only where it is open, which the address says."""
    unfolded, drawn_for = key in current_selection().unfolded, f"{key}_address"
    if key not in st.session_state or st.session_state.get(drawn_for, False) != unfolded:
        st.session_state[key] = unfolded
    st.session_state[drawn_for] = unfolded

    def moved() -> None:
        others = tuple(other for other in current_selection().unfolded if other != key)
        st.session_state[drawn_for] = st.session_state[key]
        keep(unfolded=(*others, key) if st.session_state[key] else others)

    with st.expander(title, key=key, on_change=moved) as section:
        if section.open:
            draw()


def choose(
    label: str,
    name: str,
    options: Sequence[str],
    titles: Mapping[str, str] | Callable[[str], str],
    clear: Mapping[str, Any] | None = None,
    shown: str | None = None,
    **more: Any,
) -> str:
    """Draw a select box for one field; a selected value that is not an option shows the first one.

    Args:
        label: above the box.
        name: field of the selection.
        options: values of the field.
        titles: what to show for each.
        clear: other fields to set when this one changes.
        shown: what the box shows while the selection names no option.
        more: passed on to st.selectbox.
    """
    binding = _binding(name, clear or {}, options, shown)
    show = titles if callable(titles) else titles.__getitem__
    return str(st.selectbox(label, options, format_func=show, **binding, **more))


def chosen_of(name: str, options: Sequence[str]) -> str:
    """Return what the select box of a field shows, before it is drawn: its value, or the first option."""
    value = getattr(current_selection(), name)
    return str(value if value in options else options[0])


def slide(label: str, name: str, help_text: str) -> float:
    """Draw a slider from 0 to 1 for one field."""
    return float(st.slider(label, 0.0, 1.0, step=0.05, format="%.2f", help=help_text, **_binding(name, {})))


def search(label: str, name: str, placeholder: str, clear: Mapping[str, Any], **more: Any) -> str:
    """Draw a search box for one field; what is left over is passed on to st.text_input."""
    binding = _binding(name, clear)
    return str(st.text_input(label, type="search", placeholder=placeholder, **binding, **more))


def toggle(label: str, name: str, clear: Mapping[str, Any]) -> bool:
    """Draw a switch for one field."""
    return bool(st.toggle(label, **_binding(name, clear)))


def pick(name: str, titles: Mapping[str, str]) -> str:
    """Draw one field as a row of options, of which one is always selected; the first is the default."""
    binding = _binding(name, {}, list(titles))
    chosen = st.segmented_control(
        name,
        list(titles),
        format_func=titles.__getitem__,
        label_visibility="collapsed",
        required=True,
        **binding,
    )
    return str(chosen or "")


USUAL_K = 5


def k_picker(run: Run) -> int:
    """Draw the box for k; its default is the run's own top_k where its configuration has one."""
    recorded = run.config.get("top_k")
    usual = recorded if isinstance(recorded, int) and not isinstance(recorded, bool) else USUAL_K
    show_in("pick_k", min(max(1, current_selection().k or usual), LONGEST_K))
    st.number_input(
        "k in use",
        1,
        LONGEST_K,
        key="pick_k",
        on_change=lambda: keep(k=st.session_state["pick_k"]),
        width=140,
        help="How many of the top-ranked documents reach the generator.",
    )
    return int(st.session_state["pick_k"])
