"""JupyterHub on one machine, to try the course with a class: `jupyterhub --config hub/jupyterhub_config.py`.

WARNING: this is for trying out. Anybody may log in under any name (dummy authenticator), and all learners' servers run as
the user who started the hub (simple spawner), so they can read one another's files. It therefore listens on this machine
only. README.md says what to change for a real class.
"""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATE = Path(os.environ.get("HUB_STATE", ROOT / "build" / "hub")).resolve()  # learners' folders, the hub's own files
LESSONS = ROOT / "notebooks"
FIRST = "notebooks/00_start_here.ipynb"
IDLE_SECONDS = 30 * 60  # after that, a kernel without work is stopped and its memory is free again


def home(name):
    """A learner's own folder."""
    return STATE / "learners" / name


def hand_out(spawner):
    """Copy the lessons that this learner does not have yet; what they have is theirs and stays as it is."""
    folder = home(spawner.user.name) / LESSONS.name
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(LESSONS.glob("[0-9]*.ipynb")):
        if not (folder / lesson.name).exists():
            shutil.copyfile(lesson, folder / lesson.name)


c = get_config()  # noqa: F821 - JupyterHub gives it to its configuration

STATE.mkdir(parents=True, exist_ok=True)
c.JupyterHub.bind_url = os.environ.get("HUB_URL", "http://127.0.0.1:8000")
c.JupyterHub.hub_port = int(os.environ.get("HUB_PORT", "8081"))
c.JupyterHub.db_url = f"sqlite:///{STATE / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.ConfigurableHTTPProxy.api_url = os.environ.get("HUB_PROXY", "http://127.0.0.1:8001")
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")

c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.Authenticator.username_pattern = r"[a-z0-9][a-z0-9_-]{0,31}\Z"  # a name becomes a folder

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(STATE / "learners" / "{username}")
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = [f"--MappingKernelManager.cull_idle_timeout={IDLE_SECONDS}"]
if hasattr(os, "geteuid") and os.geteuid() == 0:
    c.Spawner.args.append("--allow-root")
c.Spawner.default_url = f"/lab/tree/{FIRST}"
c.Spawner.pre_spawn_hook = hand_out
c.Spawner.environment = {
    "KV_CACHE_PROGRESS": lambda spawner: str(home(spawner.user.name) / "progress"),
    "OMP_NUM_THREADS": "1",  # the models are small: threads of many learners would only wait for one another
}
c.Spawner.start_timeout = c.Spawner.http_timeout = 180  # a whole class may log in at once
