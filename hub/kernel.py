"""A kernel as JupyterLab drives it: execute requests and widget messages over one websocket."""

import json
import time
import uuid

MODELS = {"ToggleButtonModel": "tooltip", "HTMLModel": "value"}  # what the test reads of a widget


class KernelError(Exception):
    """A cell raised, or the kernel did not answer; the message says which and what."""


def message(kind, content, session, channel="shell"):
    """A message of the Jupyter protocol, as a front end sends it."""
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": session, "username": "", "version": "5.3"}
    return {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": channel,
        "buffers": [],
    }


def press(comm_id, value):
    """The content of the message that a front end sends when a toggle button is pressed."""
    return {"comm_id": comm_id, "data": {"method": "update", "state": {"value": value}, "buffer_paths": []}}


class Kernel:
    """One kernel over an open `socket` (send, recv). `widgets` holds the state of each toggle and HTML widget by comm id."""

    def __init__(self, socket, patience=300):
        self.socket, self.patience, self.session = socket, patience, uuid.uuid4().hex
        self.widgets, self.error = {}, None

    def execute(self, source):
        """Run a cell to its end; KernelError where it raises."""
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
        self.ask("execute_request", content | {"user_expressions": {}})

    def press(self, tooltip):
        """Press the toggle button with these words; seconds until the picture has changed, and then until all is idle."""
        found = [id for id, state in self.widgets.items() if state.get("tooltip") == tooltip]
        if not found:
            raise KernelError(f"no toggle button {tooltip!r} among {len(self.widgets)} widgets")
        before = {id: state.get("value") for id, state in self.widgets.items()}
        started = time.monotonic()
        shown = self.ask("comm_msg", press(found[0], not before[found[0]]), lambda: self.changed(before))
        if shown is None:
            raise KernelError(f"{tooltip!r} was pressed and no picture changed")
        return shown - started

    def changed(self, before):
        """Whether a picture (an HTML widget with a status sentence) is another than `before`."""
        return any(
            'role="status"' in str(state.get("value")) and state["value"] != before.get(id)
            for id, state in self.widgets.items()
        )

    def ask(self, kind, content, happened=lambda: False):
        """Send a request and read until the kernel is idle again; the time at which `happened()` was first true, or None."""
        request, seen, self.error = message(kind, content, self.session), None, None
        self.socket.send(json.dumps(request))
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            answer = json.loads(self.socket.recv())
            if answer.get("parent_header", {}).get("msg_id") != request["header"]["msg_id"]:
                continue
            self.read(answer["msg_type"], answer["content"])
            seen = seen or (time.monotonic() if happened() else None)
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                if self.error:
                    raise KernelError(self.error)
                return seen
        raise KernelError(f"no answer to a {kind} in {self.patience} s")

    def read(self, kind, content):
        """Keep what a message says: an error, or a widget's state."""
        if kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
        elif kind == "comm_open":
            state = content["data"].get("state", {})
            if state.get("_model_name") in MODELS:
                self.widgets[content["comm_id"]] = state
        elif kind == "comm_msg" and content["comm_id"] in self.widgets:
            self.widgets[content["comm_id"]] |= content["data"].get("state", {})
