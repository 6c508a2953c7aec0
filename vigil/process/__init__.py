"""One runner's process: its spec, its directory, how it is started and watched, and the record that it leaves."""
