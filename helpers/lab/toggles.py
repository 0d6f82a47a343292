"""Two controls of the bug lab: toggle buttons of which any number may be on, and a prompt that may be one's own."""

from dataclasses import dataclass

from ..ledger import example
from .bugs import parse

OWN = "your own"
ROW = {"flex_flow": "row wrap"}


def holder(value):
    """An observable value, as the widgets' own."""
    import traitlets

    class Holder(traitlets.HasTraits):
        value = traitlets.Any()

    return Holder(value=value)


@dataclass(frozen=True)
class Toggles:
    """Toggle buttons in named groups, `first` and (behind a button) `more`: `{group: {words: value}}`.

    The control's value is the tuple of the values that are on, in the order of the buttons.
    """

    first: dict
    more: dict

    def build(self, widgets):
        control, buttons = holder(()), {}

        def pressed(_):
            control.value = tuple(value for value, button in buttons.items() if button.value)

        def show(_):
            for value, button in buttons.items():
                button.unobserve(pressed, names="value")  # what follows is one change, not one a button
                button.value = value in control.value
                button.description = f"✓ {button.tooltip}" if button.value else button.tooltip
                button.observe(pressed, names="value")

        rows = [
            flow(widgets, [group(widgets, *item, buttons) for item in part.items()]) for part in (self.first, self.more)
        ]
        show(None)
        control.observe(show, names="value")
        off = widgets.Button(description="all off: the correct decoder", layout={"width": "auto"})
        off.on_click(lambda _: setattr(control, "value", ()))
        return control, widgets.VBox([flow(widgets, [off, fold(widgets, "more faults", rows[1])]), *rows])


def group(widgets, name, options, buttons):
    """The name and one button for each of `options`, which are also filed in `buttons` by their value."""
    made = {v: widgets.ToggleButton(tooltip=words, layout={"width": "auto"}) for words, v in options.items()}
    buttons |= made
    return flow(
        widgets,
        [widgets.HTML(f"<b>{name[0].upper()}{name[1:]}</b>", layout={"margin": "2px 4px 2px 8px"}), *made.values()],
    )


def flow(widgets, children):
    return widgets.HBox(children, layout=widgets.Layout(**ROW))


def fold(widgets, words, part):
    """A button that shows and hides a part, which is hidden at first."""
    button = widgets.ToggleButton(description=words, layout={"width": "auto"})

    def turn(_):
        part.layout.display = "flex" if button.value else "none"

    turn(None)
    button.observe(turn, names="value")
    return button


@dataclass(frozen=True)
class Prompts:
    """Buttons for the prompts in `options` (`{words: Example}`), and one for a prompt that is typed in."""

    options: dict

    def build(self, widgets):
        control = holder(next(iter(self.options.values())))
        known = {**self.options, OWN: OWN}
        wide = {"description_width": "initial", "button_width": "auto"}
        buttons = widgets.ToggleButtons(description="Prompt:", options=list(known), style=wide)
        text = widgets.Textarea(example(2, 2, 7).prompt, layout={"width": "100%", "height": "120px"})
        use = widgets.Button(description="use this prompt")
        message = widgets.HTML()
        own = widgets.VBox([text, use, message], layout={"display": "none"})

        def take(_):
            try:
                control.value, message.value = parse(text.value), ""
            except ValueError as error:
                message.value = alert(error)

        def choose(_):
            own.layout.display = "flex" if buttons.value == OWN else "none"
            take(None) if buttons.value == OWN else setattr(control, "value", known[buttons.value])

        def show(_):
            words = next((w for w, task in self.options.items() if task == control.value), OWN)
            if words == OWN:
                text.value = control.value.prompt
            buttons.value = words

        buttons.observe(choose, names="value")
        use.on_click(take)
        control.observe(show, names="value")
        return control, widgets.VBox([buttons, own])


def alert(error):
    from html import escape

    return f'<p role="alert"><b>This prompt cannot be used:</b> {escape(str(error))}</p>'
