"""The drawn diagrams of the book, one module each, and the kit they share."""
