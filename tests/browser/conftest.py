"""JupyterLab on a copy of the lessons, and a headless Chromium that looks at it.

Without a Chromium these tests are skipped, and the reason says so; where `CI` is set they fail instead.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.commands.environment import CHROMIUM
from hub.servers import free_port, wait_for

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SETTINGS = {  # plugin -> setting: no news pop-up, no autosave, every cell in the page
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}
KERNEL_IDLE = (
    "() => window.jupyterapp?.shell?.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"
)
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"


def missing(what):
    """Skip with the reason, or fail where CI is set."""
    words = f"{what}; the browser tests need Playwright and a Chromium on the PATH ({', '.join(CHROMIUM)})"
    (pytest.fail if os.environ.get("CI") else pytest.skip)(words)


@pytest.fixture(scope="session")
def chromium():
    """Path of the browser. Without one the tests are skipped, or fail where CI is set."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if importlib.util.find_spec("playwright") is None:
        missing("playwright is not installed")
    if path is None:
        missing("no Chromium was found")
    return path


@pytest.fixture(scope="module")
def browser(chromium):
    """A browser for one file of tests: while Playwright runs, this process has a running event loop, as a kernel has."""
    from playwright.sync_api import sync_playwright

    root = hasattr(os, "geteuid") and os.geteuid() == 0  # root may not use Chromium's sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"] if root else [])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    """Address of a JupyterLab of its own: its own settings and progress, a copy of the notebooks."""
    home = tmp_path_factory.mktemp("jupyter")
    lessons = home / "notebooks"
    shutil.copytree(NOTEBOOKS, lessons)
    port, settings = free_port(), home / "settings"
    for plugin, values in SETTINGS.items():
        file = settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_RUNTIME_DIR": "runtime",
    }
    folders |= {"IPYTHONDIR": "ipython", "KV_CACHE_PROGRESS": "progress", "JUPYTERLAB_SETTINGS_DIR": "settings"}
    environment = os.environ | {name: str(home / folder) for name, folder in folders.items()}
    with open(home / "server.log", "w") as log:
        process = subprocess.Popen(command(port, lessons), env=environment, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status", process, home / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def command(port, folder):
    """The server's command line; as root only where the user is root."""
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "IdentityProvider.token": "",
    }
    options |= {
        "ServerApp.root_dir": folder,
        "LabApp.expose_app_in_browser": True,
        "LabApp.extension_manager": "readonly",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *words]


class Lesson:
    """One notebook open in the browser; `errors` collects what the page's console says went wrong."""

    def __init__(self, page, url, name):
        self.page, self.errors = page, []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(f"{url}/lab/tree/{name}?reset")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()

    def run_all(self):
        self.page.wait_for_function(KERNEL_IDLE)
        self.page.evaluate(RUN_ALL)

    def cell(self, text):
        """The code cell whose source contains `text`."""
        return self.page.locator(".jp-CodeCell", has=self.page.locator(".jp-InputArea-editor", has_text=text))

    def output(self, text):
        return self.cell(text).locator(".jp-Cell-outputArea")

    def write(self, text, source):
        """Replace the source of the cell that contains `text`, and run it."""
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Control+Enter")

    def run(self, text):
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")


@pytest.fixture(scope="module")
def open_lesson(browser, server):
    """`open_lesson(name)` opens a lesson in this module's page; kernels are shut down afterwards."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.set_default_timeout(30_000)
    yield lambda name: Lesson(page, server, name)
    page.evaluate("() => window.jupyterapp?.serviceManager.sessions.shutdownAll()")
    page.close()
