"""The lessons as an nbgrader course: release, collect, grade, feedback. `python -m helpers class` is its command line.

nbgrader is an extra (`pip install -e ".[instructor]"`). Nothing here is imported by a lesson.
"""
