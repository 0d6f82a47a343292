"""Inboxes as they come: a row for each kind, with what must become of every file in it."""

import io
import json
import stat
import zipfile
from dataclasses import dataclass, field

A, B = "00_start_here", "05_prefill_and_decode"
FILE = "_assignsubmission_file"


class Link(str):
    """A symbolic link to somewhere."""


class Locked(dict):
    """What lies in a zip file with a password."""


def notebook(*exercises, text=""):
    """A notebook whose cells check `exercises`; `text` makes it another one."""
    sources = [f'# {text}\ncheck("{name}")' for name in exercises or ("newest_row",)]
    cells = [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


START, PREFILL = notebook("newest_row", "answer_00_1"), notebook("prefill", "answer_05_1")


def zipped(files):
    """The bytes of a zip file: {name: text, bytes, another such dict for a zip file in it, or a Link}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(content, Link):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, zipped(content) if isinstance(content, dict) else content)
    return locked(out.getvalue()) if isinstance(files, Locked) else out.getvalue()


def locked(data):
    """A zip file's bytes with the flag of a password set everywhere."""
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        first, *rest = data.split(start)
        flags -= len(start)
        data = start.join([first, *(one[:flags] + bytes([one[flags] | 1]) + one[flags + 1 :] for one in rest)])
    return data


def lay_out(files, folder):
    """Write {name: text, bytes, dict for a zip file, or Link} below `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            path.symlink_to(content)
        elif isinstance(content, dict):
            path.write_bytes(zipped(content))
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def leaves(files, before=""):
    """Every file's name as it is printed, those in zip files too."""
    for name, content in files.items():
        inner = leaves(content, f"{before}{name}/") if isinstance(content, dict) else [before + name]
        yield from inner


@dataclass
class Kind:
    """`taken`: {"student lesson": the file that it came from}; `refused`, `notes`: {file: words in its line}."""

    files: dict
    taken: dict = field(default_factory=dict)
    refused: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    hidden: int = 0
    late: set = field(default_factory=set)
    answers: tuple = ()  # (file, student, lesson) in whose.csv
    asked: set = field(default_factory=set)  # the places in whose.csv afterwards that have a question


DEEP = {"eve.zip": {"b.zip": {"c.zip": {"d.zip": {f"{A}.ipynb": START}}}}}
WHICH = "which of them is the student?"

KINDS = {
    "files named after students": Kind(
        {f"ada_{A}.ipynb": START, f"bob - {B}.ipynb": PREFILL},
        {f"ada {A}": f"ada_{A}.ipynb", f"bob {B}": f"bob - {B}.ipynb"},
    ),
    "folders and a zip file of one student": Kind(
        {f"ada/{A}.ipynb": START, "bob.zip": {f"lessons/week 1/{A}.ipynb": START}},
        {f"ada {A}": f"ada/{A}.ipynb", f"bob {A}": f"bob.zip/lessons/week 1/{A}.ipynb"},
    ),
    "Moodle's download, zipped": Kind(
        {"KV-05-1234.zip": {f"Ada Lovelace_77{FILE}/{B}.ipynb": PREFILL, f"Jo O'Neil_78{FILE}_/x.ipynb": PREFILL}},
        {
            f"Ada_Lovelace {B}": f"KV-05-1234.zip/Ada Lovelace_77{FILE}/{B}.ipynb",
            f"Jo_O_Neil {B}": f"KV-05-1234.zip/Jo O'Neil_78{FILE}_/x.ipynb",
        },
        notes={f"KV-05-1234.zip/Jo O'Neil_78{FILE}_/x.ipynb": f"taken for {B}, as its cells say"},
    ),
    "Moodle's download, unpacked, with a student's own folders and zip file": Kind(
        {
            f"KV-05/Ada Lovelace_77{FILE}_/my work/final/{B}.ipynb": PREFILL,
            f"KV-05/Bob_78{FILE}_/bobs.zip": {f"inner/{B}.ipynb": PREFILL},
            "KV-05/Bob_78_assignsubmission_onlinetext_/onlinetext.html": "<p>done</p>",
        },
        {
            f"Ada_Lovelace {B}": f"KV-05/Ada Lovelace_77{FILE}_/my work/final/{B}.ipynb",
            f"Bob {B}": f"KV-05/Bob_78{FILE}_/bobs.zip/inner/{B}.ipynb",
        },
        {"KV-05/Bob_78_assignsubmission_onlinetext_/onlinetext.html": "it is no notebook"},
    ),
    "Moodle's download without folders": Kind(
        {"all.zip": {f"Ada Lovelace_77{FILE}_{B}.ipynb": PREFILL}},
        {f"Ada_Lovelace {B}": f"all.zip/Ada Lovelace_77{FILE}_{B}.ipynb"},
    ),
    "Moodle's anonymous submissions": Kind(
        {f"Participant_{n}{FILE}_/{B}.ipynb": notebook("prefill", text=str(n)) for n in (77, 78)}
        | {f"Teilnehmer_in_80{FILE}_/{A}.ipynb": START},
        {f"Participant_{n} {B}": f"Participant_{n}{FILE}_/{B}.ipynb" for n in (77, 78)}
        | {f"Teilnehmer_in_80 {A}": f"Teilnehmer_in_80{FILE}_/{A}.ipynb"},
    ),
    "anonymous submissions in a language that nobody foresaw": Kind(
        {f"Учасник_{n}{FILE}_/{B}.ipynb": notebook("prefill", text=str(n)) for n in (77, 78)},
        {f"Учасник_{n} {B}": f"Учасник_{n}{FILE}_/{B}.ipynb" for n in (77, 78)},
    ),
    "two persons of one name": Kind(
        {f"Jan Li_{n}{FILE}_/{B}.ipynb": PREFILL for n in (7, 8)} | {f"Ada_9{FILE}_/{B}.ipynb": PREFILL},
        {f"Ada {B}": f"Ada_9{FILE}_/{B}.ipynb"},
        {
            f"Jan Li_{n}{FILE}_/{B}.ipynb": f"2 persons are named Jan_Li; Moodle's number of this one is {n}"
            for n in (7, 8)
        },
        asked={f"Jan Li_{n}{FILE}_" for n in (7, 8)},
    ),
    "two persons of one name, told apart by the teacher": Kind(
        {f"Jan Li_{n}{FILE}_/{B}.ipynb": PREFILL for n in (7, 8)},
        {f"Jan_{n} {B}": f"Jan Li_{n}{FILE}_/{B}.ipynb" for n in (7, 8)},
        answers=tuple((f"Jan Li_{n}{FILE}_", f"Jan {n}", "") for n in (7, 8)),
    ),
    "Canvas's download": Kind(
        {
            "submissions.zip": {
                f"lovelaceada_123_4567_{B}-1.ipynb": PREFILL,
                "bobby_LATE_124_4568_05_prefill.ipynb": PREFILL,
                f"müllerjan_125_4569_{A}.ipynb": START,
                "neile_126_4570_stuff.zip": {f"x/{A}.ipynb": START},
            }
        },
        {
            f"lovelaceada_123 {B}": f"submissions.zip/lovelaceada_123_4567_{B}-1.ipynb",
            f"bobby_124 {B}": "submissions.zip/bobby_LATE_124_4568_05_prefill.ipynb",
            f"müllerjan_125 {A}": f"submissions.zip/müllerjan_125_4569_{A}.ipynb",
            f"neile_126 {A}": f"submissions.zip/neile_126_4570_stuff.zip/x/{A}.ipynb",
        },
        late={f"bobby_124 {B}"},
    ),
    "Canvas's anonymous submissions": Kind(
        {f"anon_Ab3xZ_456_{B}.ipynb": PREFILL, f"LATE_anon_Q9_457_{B}.ipynb": PREFILL},
        {f"anon_Ab3xZ {B}": f"anon_Ab3xZ_456_{B}.ipynb", f"anon_Q9 {B}": f"LATE_anon_Q9_457_{B}.ipynb"},
        late={f"anon_Q9 {B}"},
    ),
    "a date that looks like Canvas's numbers": Kind(
        {f"ada_2024_1105_{B}.ipynb": PREFILL},
        refused={f"ada_2024_1105_{B}.ipynb": "may be a date or Canvas's: whose is it?"},
        asked={f"ada_2024_1105_{B}.ipynb"},
    ),
    "Canvas: a second file, late": Kind(
        {f"ada_1_456_{B}.ipynb": PREFILL, f"ada_LATE_1_789_{B}-1.ipynb": notebook("prefill", text="late")},
        {f"ada_1 {B}": f"ada_LATE_1_789_{B}-1.ipynb"},
        notes={f"ada_1_456_{B}.ipynb": f"uploaded to Canvas before ada_LATE_1_789_{B}-1.ipynb, which was taken"},
        late={f"ada_1 {B}"},
    ),
    "Canvas: a second file, late, that the teacher leaves out": Kind(
        {f"ada_1_456_{B}.ipynb": PREFILL, f"ada_LATE_1_789_{B}-1.ipynb": notebook("prefill", text="late")},
        {f"ada_1 {B}": f"ada_1_456_{B}.ipynb"},
        notes={f"ada_LATE_1_789_{B}-1.ipynb": "left out, as whose.csv says"},
        answers=((f"ada_LATE_1_789_{B}-1.ipynb", "-", ""),),
    ),
    "a second file with (1) or -1": Kind(
        {f"ada/{A}.ipynb": START, f"ada/{A} (1).ipynb": notebook("newest_row", text="again")}
        | {f"bob/{A}-{n}.ipynb": notebook("newest_row", text=str(n)) for n in (2, 10)},
        {f"ada {A}": f"ada/{A} (1).ipynb", f"bob {A}": f"bob/{A}-10.ipynb"},
        notes={f"ada/{A}.ipynb": f"lower number than ada/{A} (1).ipynb, which was taken"}
        | {f"bob/{A}-2.ipynb": f"lower number than bob/{A}-10.ipynb, which was taken"},
    ),
    "two files that nothing puts in order": Kind(
        {f"ada/{A}.ipynb": START, f"ada/{A}-Copy1.ipynb": notebook("newest_row", text="copy")},
        refused={f"ada/{A}.ipynb": f"2 files of ada for {A}", f"ada/{A}-Copy1.ipynb": f"2 files of ada for {A}"},
        asked={f"ada/{A}.ipynb", f"ada/{A}-Copy1.ipynb"},
    ),
    "two files, and the teacher says which": Kind(
        {f"ada/{A}.ipynb": START, f"ada/{A}-Copy1.ipynb": notebook("newest_row", text="copy")},
        {f"ada {A}": f"ada/{A}-Copy1.ipynb"},
        notes={f"ada/{A}.ipynb": "the teacher named another file"},
        answers=((f"ada/{A}-Copy1.ipynb", "ada", ""),),
    ),
    "Canvas: two files in one upload": Kind(
        {"ada_1_456_work.zip": {f"{A}.ipynb": START, f"{A} (1).ipynb": notebook("newest_row", text="again")}},
        {f"ada_1 {A}": f"ada_1_456_work.zip/{A} (1).ipynb"},
        notes={f"ada_1_456_work.zip/{A}.ipynb": "its name has a lower number than ada_1_456_work.zip/"},
    ),
    "Canvas: two files in the last upload, and an earlier one": Kind(
        {"ada_1_789_work.zip": {f"{A}.ipynb": START, f"b/{A}.ipynb": notebook("newest_row", text="again")}}
        | {f"ada_1_456_{A}.ipynb": notebook("newest_row", text="old")},
        refused=dict.fromkeys(
            (f"ada_1_789_work.zip/{A}.ipynb", f"ada_1_789_work.zip/b/{A}.ipynb", f"ada_1_456_{A}.ipynb"),
            f"3 files of ada_1 for {A}",
        ),
        asked={f"ada_1_789_work.zip/{A}.ipynb", f"ada_1_789_work.zip/b/{A}.ipynb", f"ada_1_456_{A}.ipynb"},
    ),
    "(1) in another folder is no order": Kind(
        {f"ada_{A}.ipynb": START, f"ada/{A} (1).ipynb": notebook("newest_row", text="again")},
        refused={f"ada_{A}.ipynb": "2 files of ada", f"ada/{A} (1).ipynb": "2 files of ada"},
        asked={f"ada_{A}.ipynb", f"ada/{A} (1).ipynb"},
    ),
    "a Canvas file beside one without number": Kind(
        {f"ada_1_456_{B}.ipynb": PREFILL, f"ada 1/{B}.ipynb": notebook("prefill", text="mine")},
        refused={f"ada_1_456_{B}.ipynb": "2 files of ada_1", f"ada 1/{B}.ipynb": "2 files of ada_1"},
        asked={f"ada_1_456_{B}.ipynb", f"ada 1/{B}.ipynb"},
    ),
    "the same file twice": Kind(
        {f"ada_{A}.ipynb": START, "ada.zip": {f"{A}.ipynb": START}},
        {f"ada {A}": f"ada.zip/{A}.ipynb"},
        notes={f"ada_{A}.ipynb": f"the same as ada.zip/{A}.ipynb, which was taken"},
    ),
    "a download with a folder for each student": Kind(
        {"kurs.zip": {f"{s}/{A}.ipynb": notebook("newest_row", text=s) for s in ("ada", "bob")}},
        refused={f"kurs.zip/{s}/{A}.ipynb": f"it lies in 'kurs' and '{s}': {WHICH}" for s in ("ada", "bob")},
        asked={"kurs.zip"},
    ),
    "a download with a folder for each student, as the teacher says": Kind(
        {"kurs.zip": {f"{s}/{A}.ipynb": notebook("newest_row", text=s) for s in ("ada", "bob")}},
        {f"{s} {A}": f"kurs.zip/{s}/{A}.ipynb" for s in ("ada", "bob")},
        answers=(("kurs.zip", "*", ""),),
    ),
    "a download of one student, as the teacher says": Kind(
        {"kurs.zip": {f"x/{A}.ipynb": START, f"y/{B}.ipynb": PREFILL}},
        {f"Eve_M {A}": f"kurs.zip/x/{A}.ipynb", f"Eve_M {B}": f"kurs.zip/y/{B}.ipynb"},
        answers=(("kurs.zip", "Eve M.", ""),),
    ),
    "a folder one level deeper": Kind(
        {f"tuesday/ada/{A}.ipynb": START, f"week 3/submissions/bob/{A}.ipynb": START},
        {f"bob {A}": f"week 3/submissions/bob/{A}.ipynb"},
        {f"tuesday/ada/{A}.ipynb": f"it lies in 'tuesday' and 'ada': {WHICH}"},
        asked={"tuesday"},
    ),
    "a file named after one student in the folder of another": Kind(
        {f"bob/ada_{A}.ipynb": START, f"Eve Li/eve_{A}.ipynb": START, f"dan/Dan Nu {A}.ipynb": START},
        {f"Eve_Li {A}": f"Eve Li/eve_{A}.ipynb", f"dan {A}": f"dan/Dan Nu {A}.ipynb"},
        {f"bob/ada_{A}.ipynb": f"it lies in 'bob' and its name begins with 'ada': {WHICH}"},
        asked={"bob"},
    ),
    "names that are nobody's": Kind(
        {f"{A}.ipynb": START, f"final_{A}.ipynb": START, f"week 5/{A} (2).ipynb": START}
        | {"submissions.zip": {f"{A}.ipynb": START}, f"{A}_ada.ipynb": START},
        refused={
            name: "it names no student"
            for name in (f"{A}.ipynb", f"final_{A}.ipynb", f"week 5/{A} (2).ipynb", f"submissions.zip/{A}.ipynb")
            + (f"{A}_ada.ipynb",)
        },
        asked={
            f"{A}.ipynb",
            f"final_{A}.ipynb",
            f"week 5/{A} (2).ipynb",
            f"submissions.zip/{A}.ipynb",
            f"{A}_ada.ipynb",
        },
    ),
    "a notebook that names no lesson": Kind(
        {
            "ada/work.ipynb": PREFILL,
            "bob/work.ipynb": notebook("nothing_of_ours"),
            "eve/x.ipynb": notebook("prefill", "newest_row"),
        }
        | {"dan/x.ipynb": notebook("mask_from")},
        {f"ada {B}": "ada/work.ipynb"},
        {
            "bob/work.ipynb": "it names no lesson that was released",
            "eve/x.ipynb": "it names no lesson that was released",
            "dan/x.ipynb": "no lesson that was released (its cells are of lesson 01)",
        },
        {"ada/work.ipynb": f"taken for {B}, as its cells say"},
        asked={"bob/work.ipynb", "eve/x.ipynb", "dan/x.ipynb"},
    ),
    "a notebook that names no lesson, and the teacher does": Kind(
        {"bob/work.ipynb": notebook("nothing_of_ours"), "eve.ipynb": notebook("nothing")},
        {f"bob {B}": "bob/work.ipynb", f"Eve {A}": "eve.ipynb"},
        answers=(("bob/work.ipynb", "", "5"), ("eve.ipynb", "Eve", "00_start")),
    ),
    "an answer that is none": Kind(
        {f"{A}.ipynb": START, "bob/work.ipynb": notebook("nothing")},
        refused={f"{A}.ipynb": "it names no student", "bob/work.ipynb": "'77' is no lesson that was released"},
        answers=((f"{A}.ipynb", "...", ""), ("bob/work.ipynb", "", "77")),
        asked={f"{A}.ipynb", "bob/work.ipynb"},
    ),
    "a name that its cells contradict": Kind(
        {f"ada_{A}.ipynb": PREFILL},
        refused={f"ada_{A}.ipynb": f"it is named {A}, and its cells are of lesson 05: for which lesson is it?"},
        asked={f"ada_{A}.ipynb"},
    ),
    "endings in capitals, or with .txt behind": Kind(
        {"ADA.ZIP": {f"{A}.IPYNB": START}, f"bob_{A}.ipynb.txt": START, f"eve_{A}.Ipynb.json": START},
        {f"ADA {A}": f"ADA.ZIP/{A}.IPYNB", f"bob {A}": f"bob_{A}.ipynb.txt", f"eve {A}": f"eve_{A}.Ipynb.json"},
    ),
    "a zip file in a zip file": Kind(
        {"download.zip": {"ada.zip": {f"{A}.ipynb": START}, "bob.Zip": {"work.zip": {f"{A}.ipynb": START}}}},
        {f"ada {A}": f"download.zip/ada.zip/{A}.ipynb", f"bob {A}": f"download.zip/bob.Zip/work.zip/{A}.ipynb"},
    ),
    "zip files in one another without end": Kind(
        DEEP, refused={"eve.zip/b.zip/c.zip/d.zip": "more than 2 others is not opened"}
    ),
    "archives that cannot be opened, and other files": Kind(
        {
            f"ada_{A}.rar": "Rar!",
            "bob.7z": "7z",
            "eve.tar.gz": "",
            "ada/report.pdf": "",
            "ada/notes.txt": "",
            "x.zip.txt": "",
        },
        refused={
            f"ada_{A}.rar": "a .rar file cannot be opened here: unpack it",
            "bob.7z": "a .7z file cannot",
            "eve.tar.gz": "a .gz file cannot",
            "ada/report.pdf": "it is no notebook",
            "ada/notes.txt": "it is no notebook",
            "x.zip.txt": "it is no notebook",
        },
    ),
    "a file that the teacher leaves out": Kind(
        {"ada/report.pdf": "", f"old/{A}.ipynb": START},
        notes={"ada/report.pdf": "left out", f"old/{A}.ipynb": "left out"},
        answers=(("ada/report.pdf", "-", ""), ("old", "-", "")),
    ),
    "paths that lead out of a zip file": Kind(
        {
            "eve.zip": {
                f"../../out/{A}.ipynb": START,
                f"/abs/{A}.ipynb": START,
                f"C:\\x\\{A}.ipynb": START,
                f"a/../{B}.ipynb": PREFILL,
            }
        },
        refused={
            f"eve.zip/../../out/{A}.ipynb": "leads out of the zip file: it was not unpacked",
            f"eve.zip/abs/{A}.ipynb": "leads out",
            f"eve.zip/C:/x/{A}.ipynb": "leads out",
            f"eve.zip/a/../{B}.ipynb": "leads out",
        },
    ),
    "backslashes in a zip file from Windows": Kind(
        {"eve.zip": {f"lessons\\{A}.ipynb": START}}, {f"eve {A}": f"eve.zip/lessons/{A}.ipynb"}
    ),
    "links": Kind(
        {f"ada_{A}.ipynb": Link("/etc/passwd"), "bob": Link("/etc"), "eve.zip": {f"{A}.ipynb": Link("/etc/passwd")}},
        refused={f"ada_{A}.ipynb": "it is a link", "bob": "it is a link", f"eve.zip/{A}.ipynb": "it is a link"},
    ),
    "what systems leave behind": Kind(
        {
            f"ada/{A}.ipynb": START,
            f"ada/.ipynb_checkpoints/{A}-checkpoint.ipynb": START,
            "ada/.DS_Store": "",
            "Thumbs.db": "",
        }
        | {"bob.zip": {f"{A}.ipynb": START, f"__MACOSX/._{A}.ipynb": "", f"._{A}.ipynb": "", "desktop.ini": ""}},
        {f"ada {A}": f"ada/{A}.ipynb", f"bob {A}": f"bob.zip/{A}.ipynb"},
        hidden=6,
    ),
    "empty and broken notebooks": Kind(
        {f"ada_{A}.ipynb": "", f"bob_{A}.ipynb": '{"cells": [', f"eve_{A}.ipynb": "[" * 5000, "dan/x.ipynb": "[1]"}
        | {f"fay_{A}.ipynb": '{"cells": []}', f"gus_{A}.ipynb": '{"cells": [3]}', f"hal_{A}.ipynb": b"\xff\xfe\x00"},
        {f"{s} {A}": f"{s}_{A}.ipynb" for s in ("ada", "bob", "eve", "fay", "gus", "hal")},
        {"dan/x.ipynb": "it names no lesson that was released"},
        {f"{s}_{A}.ipynb": "it is no notebook that can be read" for s in ("ada", "bob", "eve", "gus", "hal")},
        asked={"dan/x.ipynb"},
    ),
    "broken, empty and locked zip files": Kind(
        {"ada.zip": b"no zip file", "bob.zip": b"", "eve.zip": Locked({f"{A}.ipynb": START}), "dan.zip": {}},
        refused={
            "ada.zip": "it cannot be unpacked: File is not a zip file",
            "bob.zip": "it cannot be unpacked",
            f"eve.zip/{A}.ipynb": "it is locked with a password",
            "dan.zip": "it holds no file",
        },
    ),
    "names in other letters, with spaces, in two spellings": Kind(
        {f"李 明/week 1/{A}.ipynb": START, "Zoe\u0308.zip": {f"{A}.ipynb": START}, f"Zo\u00eb_{B}.ipynb": PREFILL}
        | {
            f"a@b.org/{A}.ipynb": START,
            f"Ada_{A}.ipynb": START,
            f"ada_{B}.ipynb": PREFILL,
            f"20231234_{A}.ipynb": START,
        },
        {
            f"李_明 {A}": f"李 明/week 1/{A}.ipynb",
            f"Zo\u00eb {A}": f"Zoe\u0308.zip/{A}.ipynb",
            f"Zo\u00eb {B}": f"Zo\u00eb_{B}.ipynb",
            f"a@b_org {A}": f"a@b.org/{A}.ipynb",
            f"Ada {A}": f"Ada_{A}.ipynb",
            f"Ada {B}": f"ada_{B}.ipynb",
            f"20231234 {A}": f"20231234_{A}.ipynb",
        },
    ),
    "names in bytes that are no text": Kind(
        {f"Zo\udcff_77{FILE}_/{A}.ipynb": START, f"\udcff/{A}.ipynb": START},
        {f"Zo {A}": f"Zo?_77{FILE}_/{A}.ipynb"},
        {f"?/{A}.ipynb": "it names no student"},
        asked={f"?/{A}.ipynb"},
    ),
    "a name that is too long, and one that would be a formula or move the cursor": Kind(
        {
            f"{'李' * 60}_{A}.ipynb": START,
            "=cmd.ipynb": notebook("nothing"),
            f"a\x1b[2J\n/{A}.ipynb": START,
            f"\x1b/{A}.ipynb": START,
        },
        {f"a_2J {A}": f"a?[2J?/{A}.ipynb"},
        {
            f"{'李' * 60}_{A}.ipynb": "it names no student",
            "=cmd.ipynb": "no lesson",
            f"?/{A}.ipynb": "it names no student",
        },
        asked={f"{'李' * 60}_{A}.ipynb", "./=cmd.ipynb", f"?/{A}.ipynb"},
    ),
    "a notebook that is too large": Kind(
        {f"ada_{A}.ipynb": " " * 2_000_000, "bob.zip": {f"{A}.ipynb": " " * 2_000_000, f"{B}.ipynb": PREFILL}},
        {f"bob {B}": f"bob.zip/{B}.ipynb"},
        {f"ada_{A}.ipynb": "it has 2 MB, and no more than 1 are taken", f"bob.zip/{A}.ipynb": "it has 2 MB"},
    ),
    "zip bombs: too much, too many, in one another": Kind(
        {"ada.zip": {f"{i}.ipynb": "x" * 900_000 for i in range(5)}, "bob.zip": {f"{i}.txt": "" for i in range(31)}}
        | {"eve.zip": {f"{i}.zip": {f"{A}.ipynb": "x" * 900_000} for i in range(5)}, f"fay_{A}.ipynb": START},
        {f"fay {A}": f"fay_{A}.ipynb"},
        {
            "ada.zip": "unpacked it has more than 3 MB; nothing of it was taken",
            "bob.zip": "it holds more than 30 files; nothing",
            "eve.zip": "unpacked it has more than 3 MB",
        },
    ),
}
