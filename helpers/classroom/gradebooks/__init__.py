"""Scores in the CSV files that Moodle's and Canvas's grade books give out and take back."""
