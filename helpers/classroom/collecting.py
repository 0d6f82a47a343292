"""Sort handed-in files into `submitted/STUDENT/LESSON/LESSON.ipynb`, however the learning platform named them."""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from .course import ClassError, opened

SKIPPED = {".ipynb_checkpoints", "__MACOSX"}


def collect(course, folder):
    """Copy the notebooks in `folder`, zip files included, to their places in `course`.

    Returns (taken, refused): [(lesson, student)] and [(file, why)]. The student is what stands before the lesson's name
    in the file's name, or else the folder (or zip file) below `folder` that it lies in.
    """
    opened(course)  # says in words if it is no course folder
    folder = Path(folder)
    if not folder.is_dir():
        raise ClassError(f"{folder} is no folder: put the files that were handed in into one")
    with tempfile.TemporaryDirectory() as unpacked:
        found, refused = sort(folder, Path(unpacked), [path.name for path in (course / "source").iterdir()])
        for (lesson, student), paths in found.items():
            if len(paths) > 1:
                refused.append((", ".join(paths.values()), f"{len(paths)} files of {student} for {lesson}: keep one"))
                continue
            place = course / "submitted" / student / lesson
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(next(iter(paths)), place / f"{lesson}.ipynb")
    return sorted(key for key, paths in found.items() if len(paths) == 1), sorted(refused)


def sort(folder, unpacked, lessons):
    """({(lesson, student): {path: its name below the folder}}, [(file, why it is nobody's)])."""
    found, refused = {}, unpack(folder, unpacked)
    for path, name in files(folder, unpacked):
        lesson, student = whose(name, lessons)
        if lesson and student:
            found.setdefault((lesson, student), {})[path] = str(name)
        else:
            refused.append((str(name), "it names no student" if lesson else "it names no lesson that was released"))
    return found, refused


def unpack(folder, unpacked):
    """Each zip file below `folder` becomes a folder of its name. Returns [(file, why)] for those that are none."""
    broken = []
    for path in sorted(folder.rglob("*.zip")):
        name = path.relative_to(folder)
        try:
            shutil.unpack_archive(path, unpacked / name.with_suffix(""))
        except (shutil.ReadError, zipfile.BadZipFile) as error:
            broken.append((str(name), f"it cannot be unpacked: {error}"))
    return broken


def files(folder, unpacked):
    """(path, name below the folder) of each notebook."""
    for root in (folder, unpacked):
        for path in sorted(root.rglob("*.ipynb")):
            name = path.relative_to(root)
            if not SKIPPED & set(name.parts):
                yield path, name


def whose(name, lessons):
    """(lesson, student) by a file's name below the folder; None for what it does not say."""
    lesson = next((lesson for lesson in lessons if lesson in name.stem), None)
    before = name.stem.split(lesson)[0] if lesson else ""
    student = clean(before) or (clean(name.parts[0]) if len(name.parts) > 1 else "")
    return lesson, student or None


def clean(text):
    """A student's name that is safe as a folder's name."""
    return re.sub(r"[^\w@-]+", "_", text).strip("_-")
