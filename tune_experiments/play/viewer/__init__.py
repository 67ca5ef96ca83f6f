"""One self-contained HTML file with recorded episodes; it needs no server and no network."""
