"""What Vigil writes down and reads back: one module a document, and the nouns that stand in several of them."""
