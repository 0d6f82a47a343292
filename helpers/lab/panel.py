"""The widget shell: controls above, one HTML view below. Every widget of the course is a `Panel` over a plain function.

Why so plain: one HTML value holds picture and sentence, so both change at once and nothing flickers; no Output widget,
so nothing can leak into the log; toggle and step buttons, because JupyterLab keeps the arrow keys for itself.
"""

import html
import traceback
from collections.abc import Callable
from dataclasses import dataclass

VIEW = "application/vnd.jupyter.widget-view+json"
KEPT = 60  # views that a panel remembers, some 20 kB each
CARD = "font-family:var(--jp-ui-font-family, sans-serif);font-size:14px;line-height:1.5;max-width:960px"


@dataclass(frozen=True)
class View:
    """What a panel shows for one setting: a `sentence` that says all that matters in words, and the picture's `html`."""

    sentence: str
    html: str

    def page(self):
        sentence = f'<p role="status" style="margin:8px 0;font-weight:600">{html.escape(self.sentence)}</p>'
        return f'<div style="{CARD}">{sentence}{self.html}</div>'


@dataclass(frozen=True)
class Choice:
    """A row of toggle buttons: `options` maps the words on each button to the value that it stands for."""

    label: str
    options: dict
    start: object = None  # one of the values; the first where left out

    def build(self, widgets):
        wide = {"description_width": "initial", "button_width": "auto"}
        options = list(self.options.items())
        chosen = widgets.ToggleButtons(description=self.label, options=options, style=wide)
        if self.start is not None:
            chosen.value = self.start
        return chosen, chosen


@dataclass(frozen=True)
class Step:
    """A whole number from `low` to `high`: a slider for the mouse, "previous" and "next" buttons for the keyboard."""

    label: str
    low: int
    high: int

    def build(self, widgets):
        slider = widgets.IntSlider(
            value=self.low, min=self.low, max=self.high, description=self.label, style={"description_width": "initial"}
        )
        back, forth = widgets.Button(description="previous"), widgets.Button(description="next")
        back.on_click(lambda _: setattr(slider, "value", slider.value - 1))  # the slider clamps at its ends
        forth.on_click(lambda _: setattr(slider, "value", slider.value + 1))
        row = widgets.HBox([slider, back, forth], layout=widgets.Layout(flex_flow="row wrap"))
        return slider, row


class Panel:
    """Controls over one view.

    `controls` maps each argument of `show` to a `Choice` or a `Step`; `show(**settings)` returns a `View` and is called
    once per setting. `still()`, if given, returns a PNG (bytes) for readers without a kernel. An error in `show` is
    raised while the panel is built and drawn in the panel afterwards.
    """

    def __init__(self, name: str, controls: dict, show: Callable[..., View], still: Callable | None = None):
        import ipywidgets as widgets  # here, so that the functions can be used and tested without it

        self.name, self.show, self.still = name, show, still
        self.views: dict[tuple, View] = {}
        built = {argument: control.build(widgets) for argument, control in controls.items()}
        self.controls = {argument: control for argument, (control, _) in built.items()}
        self.area = widgets.HTML()
        self.box = widgets.VBox([*(row for _, row in built.values()), self.area])
        self.draw(self.current())
        for control in self.controls.values():
            control.observe(self.changed, names="value")

    def settings(self):
        return {argument: control.value for argument, control in self.controls.items()}

    def current(self):
        settings = self.settings()
        key = tuple(settings.values())
        if key not in self.views:
            self.views[key] = self.show(**settings)
            if len(self.views) > KEPT:
                del self.views[next(iter(self.views))]  # the oldest
        return self.views[key]

    def changed(self, _):
        try:
            self.draw(self.current())
        except Exception:  # noqa: BLE001 - a front end would drop it silently, so it is shown where the picture was
            self.draw(View("This setting raised an error.", f"<pre>{html.escape(traceback.format_exc())}</pre>"))

    def draw(self, view):
        self.sentence, self.area.value = view.sentence, view.page()

    def set(self, **settings):
        """Turn controls from code, as a click would; returns the panel."""
        for argument, value in settings.items():
            self.controls[argument].value = value
        return self

    def __repr__(self):
        return f"{self.name}: {self.sentence}"

    def _repr_mimebundle_(self, **kwargs):
        import base64

        bundle = {"text/plain": repr(self)}
        bundle[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        if self.still is not None:
            bundle["image/png"] = base64.b64encode(self.still()).decode()
        return bundle
