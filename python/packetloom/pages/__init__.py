"""What results say: sentences, tables and figures, on a page, in print, in a notebook."""
