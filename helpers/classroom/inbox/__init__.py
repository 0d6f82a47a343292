"""What lies in a folder of handed-in files, and what its names say: files, zip files, students, lessons, answers."""
