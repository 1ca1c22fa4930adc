"""Objects as rows: the tables that kubectl prints, and the metadata alone."""
