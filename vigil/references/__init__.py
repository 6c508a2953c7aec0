"""Raw samples that bands are computed from: read, shown, added to, superseded; never changed or removed."""
