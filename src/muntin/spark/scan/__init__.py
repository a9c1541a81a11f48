"""Arrow scans: workers read the files of a source themselves, and no row passes through the JVM."""
