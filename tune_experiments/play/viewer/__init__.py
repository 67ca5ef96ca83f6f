"""One self-contained HTML file in which people look at episodes, without a server and without a network."""
