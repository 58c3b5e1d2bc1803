package taskkit

// Version is the version of this package, as a worker writes it into its row.
const Version = "0.1.0"
